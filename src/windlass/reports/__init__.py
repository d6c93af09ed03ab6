"""What became of a program, in words and as data: reports on launches, and texts of each stage.

Takes what the compiler gave and noted; knows neither kernels nor launches, and runs nothing. What is said of a launch
stays as it was when the launch was compiled.

Start reading at `report.py`; `lowered.py` holds the texts by stage, `words.py` how counts, sizes and times are spelled.
"""
