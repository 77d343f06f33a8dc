"""Cox's 4 x 9 table, protected by suppression and by adjustment, beside the handout's figures."""

import tablecloak as tc

rounded, exact = tc.examples.cox_rounded(), tc.examples.cox()

print("Suppression of the rounded table, zeros known")
for require, published in (("two-sided", "-"), ("width", "2,759 in 11 cells")):
    pattern = tc.suppress(rounded, require=require)
    print(f"  {pattern.summary()}\n  published: {published}")
    pattern.verify()

print("Adjustment of the table in full, sum of absolute changes")
plain = tc.adjust(exact, weights="unit")
kept = tc.adjust(exact, weights="unit", preserve=[tc.Regression("sensitive")], time_limit=20)
for name, adjusted, published in (
    ("plain", plain, "correlation 0.98, slope 0.82, variance ratio 0.70"),
    ("regression of the sensitive cells preserved", kept, "slope 0.93 (compromise)"),
):
    found = adjusted.moments("sensitive")
    print(f"  {name}: {adjusted.summary()}")
    print(
        f"    correlation {found.correlation:.2f}, slope {found.slope:.2f}, "
        f"variance ratio {found.variance_ratio:.2f}, mean shift {found.mean_shift:.1f}"
    )
    print(f"    handout: {published}")
assert round(plain.loss) == 231350
assert abs(kept.moments("sensitive").slope - 1) < 1e-4
