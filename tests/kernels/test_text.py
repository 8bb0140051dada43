"""Kernels as text: what is written is read again, and nothing is run."""

import numpy as np
import pytest

import vectrick as vt
from vectrick.kernels.text import format_kernel, parse_kernel

KERNELS = [
    vt.Linear(),
    vt.Gaussian(0.25),
    vt.Gaussian("auto"),
    vt.Polynomial(2, 0.5, 0.0),
    vt.Gaussian(0.5) + vt.Constant(0.3),
    (vt.Linear() + vt.Constant(1.0)) * vt.Tanimoto() * vt.Cosine(),
    vt.Linear() * (vt.Cosine() + vt.Linear()) + vt.Constant(2.0),
    vt.Standardized(vt.Gaussian(0.1) + vt.Linear()),
    vt.Precomputed(),
    vt.MinMax(),
]
OF_STRINGS = [
    vt.Spectrum(2),
    vt.Spectrum(2, kernel=vt.Gaussian(0.5)) * vt.Spectrum(),
    vt.Morgan(3, 512, True) + vt.Constant(0.5),
    vt.SmithWaterman("BLOSUM50", 10, 2, vt.Gaussian(0.1)),
    vt.Profile(vt.Gaussian(0.1), like=vt.Cosine(), neighbours=3),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_what_is_written_is_read(kernel):
    text = format_kernel(kernel)
    again = parse_kernel(text)
    assert format_kernel(again) == text
    X = np.random.default_rng(0).random((5, 5))
    values = [one.resolve(X, np.arange(5))(X) for one in (kernel, again)]
    np.testing.assert_array_equal(*values)


@pytest.mark.parametrize("kernel", OF_STRINGS, ids=repr)
def test_kernels_of_strings_are_read_as_they_are_written(kernel):
    again = parse_kernel(format_kernel(kernel))
    assert repr(again) == repr(kernel)


def test_short_forms():
    assert repr(parse_kernel(" rbf(0.5) ")) == repr(vt.Gaussian(0.5))
    assert repr(parse_kernel("polynomial(2, coef0=1)")) == repr(vt.Polynomial(2, coef0=1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is not a formula"),
        ("gausian", "'gausian' is not a kernel; kernels are linear, gaussian"),
        ("gaussian(1", "it is not a formula"),
        ("gaussian(sigma=1)", "'gaussian' has no parameter 'sigma'"),
        ("gaussian(1, 2)", "'gaussian' takes 1 parameters"),
        ("gaussian(gamma=open('x'))", "must be a number or a word"),
        ("__import__('os').system('true')", "is not a kernel"),
        ("linear - linear", "is not a kernel"),
        ("linear if 1 else linear", "is not a kernel"),
        ("(lambda: linear)()", "is not a kernel"),
        ("standardized", "needs a kernel inside"),
        ("+".join(["linear"] * 500), "it is not a formula"),
        ("(" * 900 + "linear" + ")" * 90, "it is not a formula"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(ValueError, match="start_kernel is") as caught:
        parse_kernel(text, "start_kernel")
    assert message in str(caught.value)
