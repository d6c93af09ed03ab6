// Coefficients of polynomials, the constant one first. Each interpolates the function at the Chebyshev nodes of the
// interval; they were computed with 70 digits and then rounded.
//
//   EXP           (exp(r) - 1 - r) / r^2                 |r| <= ln2/2
//   LOG_SERIES    (log(1 + f) - f + f^2/2) / f^3         |f| <= 1/3
//   LOG_QUOTIENT  (log((1 + s) / (1 - s)) - 2s) / s^3    in u = s^2, u <= 0.04
//   SIN           (sin(r) - r) / r^3                     in u = r^2, |r| <= pi/4
//   COS           (cos(r) - 1 + r^2/2) / r^4             likewise
//   TANH          (tanh(x) - x) / x^3                    in u = x^2, |x| <= 0.55
//   SINH          (sinh(x) - x) / x^3                    in u = x^2, |x| <= 1
//   ASIN          (asin(x) - x) / x^3                    in u = x^2, |x| <= 0.5625
//   ATAN          (atan(x) - x) / x^3                    in u = x^2, |x| <= 1
//   ERF           erf(x) / x - 1                           in u = x^2, |x| <= 1
//   ERF_TAIL      -log(1 - erf(x))                       1 <= x <= 4
#pragma once

template <class Real> struct Coefficients;

template <> struct Coefficients<float> {
    static constexpr float EXP[6] = {
        0x1.0000000000000p-1f, 0x1.5555560000000p-3f, 0x1.5554e80000000p-5f, 0x1.1110e00000000p-7f,
        0x1.6d444a0000000p-10f, 0x1.a125f60000000p-13f};
    static constexpr float LOG_SERIES[10] = {
        0x1.5555560000000p-2f, -0x1.0000000000000p-2f, 0x1.9998d40000000p-3f, -0x1.55549e0000000p-3f,
        0x1.24c9260000000p-3f, -0x1.0033100000000p-3f, 0x1.bc8cf80000000p-4f, -0x1.8fc5f60000000p-4f,
        0x1.dba2600000000p-4f, -0x1.b562460000000p-4f};
    static constexpr float LOG_QUOTIENT[4] = {
        0x1.5555560000000p-1f, 0x1.999a6c0000000p-2f, 0x1.242c5a0000000p-2f, 0x1.e66d700000000p-3f};
    static constexpr float SIN[4] = {
        -0x1.5555560000000p-3f, 0x1.11110e0000000p-7f, -0x1.a013880000000p-13f, 0x1.6db3880000000p-19f};
    static constexpr float COS[3] = {
        0x1.5555540000000p-5f, -0x1.6c12be0000000p-10f, 0x1.9bcdc60000000p-16f};
    static constexpr float TANH[6] = {
        -0x1.5555560000000p-2f, 0x1.1111040000000p-3f, -0x1.ba142e0000000p-5f, 0x1.6579360000000p-6f,
        -0x1.1764100000000p-7f, 0x1.4b239a0000000p-9f};
    static constexpr float SINH[4] = {
        0x1.5555560000000p-3f, 0x1.11111e0000000p-7f, 0x1.a009000000000p-13f, 0x1.78a70e0000000p-19f};
    static constexpr float ASIN[7] = {
        0x1.5555560000000p-3f, 0x1.3332c80000000p-4f, 0x1.6de0aa0000000p-5f, 0x1.ebc2860000000p-6f,
        0x1.a23b720000000p-6f, 0x1.04e9060000000p-8f, 0x1.431f420000000p-5f};
    static constexpr float ATAN[10] = {
        -0x1.5555560000000p-2f, 0x1.9999560000000p-3f, -0x1.2489520000000p-3f, 0x1.c62cda0000000p-4f,
        -0x1.6dd8fe0000000p-4f, 0x1.2006f80000000p-4f, -0x1.9115a40000000p-5f, 0x1.aefb2c0000000p-6f,
        -0x1.2ba6b60000000p-7f, 0x1.86406c0000000p-10f};
    static constexpr float ERF[8] = {
        0x1.06eba80000000p-3f, -0x1.8127460000000p-2f, 0x1.ce2f080000000p-4f, -0x1.b829c80000000p-6f,
        0x1.562a600000000p-8f, -0x1.bccf660000000p-11f, 0x1.d887500000000p-14f, -0x1.445f480000000p-17f};
    static constexpr float ERF_TAIL[10] = {
        -0x1.b48d860000000p-12f, 0x1.2173ee0000000p+0f, 0x1.430c460000000p-1f, 0x1.c6e1a00000000p-4f,
        -0x1.bbffa40000000p-6f, 0x1.4befb60000000p-8f, -0x1.6793700000000p-11f, 0x1.054c580000000p-14f,
        -0x1.bdd4360000000p-19f, 0x1.45ac780000000p-24f};
};

template <> struct Coefficients<double> {
    static constexpr double EXP[11] = {
        0x1.0000000000000p-1, 0x1.5555555555557p-3, 0x1.5555555555556p-5, 0x1.111111111009cp-7,
        0x1.6c16c16c162b0p-10, 0x1.a01a01ac0a9eep-13, 0x1.a01a01a6ec522p-16, 0x1.71de01c3fc936p-19,
        0x1.27e4db25ce3adp-22, 0x1.af4ecd2129492p-26, 0x1.1f7385560be05p-29};
    static constexpr double LOG_QUOTIENT[8] = {
        0x1.5555555555555p-1, 0x1.9999999999f30p-2, 0x1.24924923dba6ap-2, 0x1.c71c72e2f78d5p-3,
        0x1.745cab2727663p-3, 0x1.3b29fcbbce66dp-3, 0x1.0e88ea4725d3dp-3, 0x1.16b68338bd78bp-3};
    static constexpr double SIN[7] = {
        -0x1.5555555555555p-3, 0x1.1111111111110p-7, -0x1.a01a01a0198dep-13, 0x1.71de3a5455b9ap-19,
        -0x1.ae64540000f84p-26, 0x1.6121703ee57b1p-33, -0x1.ab0f25d21fd92p-41};
    static constexpr double COS[6] = {
        0x1.5555555555555p-5, -0x1.6c16c16c16944p-10, 0x1.a01a019f4671dp-16, -0x1.27e4fa0d3726cp-22,
        0x1.1eeb5de1e2b95p-29, -0x1.9075bb669682cp-37};
    static constexpr double TANH[12] = {
        -0x1.5555555555555p-2, 0x1.1111111111109p-3, -0x1.ba1ba1ba1a732p-5, 0x1.664f48822e9a5p-6,
        -0x1.226e3539b9272p-7, 0x1.d6d3c60009e9cp-9, -0x1.7da25da5066b5p-10, 0x1.3547bfaa42508p-11,
        -0x1.f41d11ba745a0p-13, 0x1.8c93b7d5aba25p-14, -0x1.1adede7706052p-15, 0x1.08378067f032ap-17};
    static constexpr double SINH[8] = {
        0x1.5555555555555p-3, 0x1.1111111111111p-7, 0x1.a01a01a01a001p-13, 0x1.71de3a556f96cp-19,
        0x1.ae6456792a77fp-26, 0x1.612467ccb2260p-33, 0x1.ae777c36fd5b6p-41, 0x1.99f0806c2628dp-49};
    static constexpr double ASIN[15] = {
        0x1.5555555555555p-3, 0x1.33333333331ffp-4, 0x1.6db6db6dda324p-5, 0x1.f1c71c583a649p-6,
        0x1.6e8ba7bb02a58p-6, 0x1.1c4e392c43fd1p-6, 0x1.c9ae29dd9f58cp-7, 0x1.797f6b8252041p-7,
        0x1.492a04c396aa0p-7, 0x1.aec0fc4483cbdp-8, 0x1.feef38c109e77p-7, -0x1.46f2142436090p-6,
        0x1.ff5f91224c555p-5, -0x1.1f619927bc4ccp-4, 0x1.bf799ea1f4890p-5};
    static constexpr double ATAN[22] = {
        -0x1.5555555555555p-2, 0x1.999999999997dp-3, -0x1.2492492491234p-3, 0x1.c71c71c6882cdp-4,
        -0x1.745d1731e853fp-4, 0x1.3b13af957f086p-4, -0x1.1110f9a06b09dp-4, 0x1.e1e0069edf96ep-5,
        -0x1.af1a76061e434p-5, 0x1.85c82bf04fbd6p-5, -0x1.62c464c86804fp-5, 0x1.42a843b89b0ebp-5,
        -0x1.20f157ad652dfp-5, 0x1.f0f041d3e2f50p-6, -0x1.8c59dbc673323p-6, 0x1.198ad7e0bd0c6p-6,
        -0x1.552f78ddf9b30p-7, 0x1.50ea3497605b5p-8, -0x1.0110cfd66bd22p-9, 0x1.19e6b726893d0p-11,
        -0x1.890e58e18ff08p-14, 0x1.04a3628aee536p-17};
};
