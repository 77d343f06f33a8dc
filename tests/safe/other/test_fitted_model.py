"""Options of a fit that change its figures: what no rule looks at never passes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project

sm = pytest.importorskip("statsmodels.api")
smf = pytest.importorskip("statsmodels.formula.api")

N, PERSON = 400, 7


def people():
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"const": 1.0, "age": rng.integers(16, 85, N).astype(float)})
    data["income"] = rng.lognormal(10, 0.5, N).round()
    data["hours"] = rng.normal(36, 7, N).round(1)
    data["children"] = rng.poisson(1.2, N)
    data["ill"] = (rng.random(N) < 0.3).astype(int)
    return data


DATA = people()
ONE = DATA[["const"]]
TWO = DATA[["const", "age"]]
IS_PERSON = DATA.index == PERSON


def test_two_flags_that_few_have_both_go_to_review():
    """Three standard errors have one solution in whole numbers: how many have each, and both."""
    rng = np.random.default_rng(3)
    flags = pd.DataFrame({"const": 1.0, "migrant": np.arange(N) < 120, "ill": False})
    for both, verdict in ((5, "review"), (40, "pass")):
        flags["ill"] = (np.arange(N) < both) | (np.arange(N) >= N - 60)
        model = sm.OLS(rng.normal(0, 1, N), flags.astype(float))
        assert status(model.fit())[0] == verdict


def test_a_code_that_few_have_goes_to_review():
    """The sums of the code and of its square tell how many have 1, and 2."""
    rng = np.random.default_rng(3)
    codes = pd.DataFrame({"const": 1.0, "level": np.repeat([0.0, 1.0, 2.0], [200, N - 206, 6])})
    model = sm.OLS(rng.normal(0, 1, N), codes)
    assert status(model.fit())[0] == "review"


def test_the_sum_of_a_column_follows_from_standard_errors():
    """Of two columns that differ at one record, the difference of their sums is its amount."""
    without = TWO.assign(age=DATA.income.where(~IS_PERSON, 0.0))
    one = sm.OLS(DATA.hours, TWO.assign(age=DATA.income)).fit()
    other = sm.OLS(DATA.children.astype(float), without).fit()
    verdict, said = status(one, other)
    assert verdict == "review" and "sum of age" in said


def test_a_flag_beside_an_amount_is_counted():
    flag = ((DATA.ill == 0) | (DATA.index >= 60)).astype(float)
    n_few = int((flag == 0).sum())
    assert n_few >= 10
    other = flag.where(DATA.index != DATA.index[DATA.ill == 1][0], 1.0)
    one = sm.OLS(DATA.hours, TWO.assign(flag=flag)).fit()
    two = sm.OLS(DATA.income, TWO.assign(flag=other)).fit()
    assert status(one, two)[0] == "fail"


def status(*results):
    """Verdict on the last of some results, and its reasons."""
    project = Project()
    for result in results:
        output = project.regression(result)
    return output.outcome.status, output.outcome.summary


def test_the_models_that_are_checked_pass_with_the_usual_options():
    family = sm.families
    weights = DATA.hours.clip(20, 50)
    for result in (
        sm.OLS(DATA.income, TWO).fit(),
        sm.WLS(DATA.income, TWO, weights=weights).fit(),
        sm.GLS(DATA.income, TWO).fit(),
        sm.GLS(DATA.income, TWO, sigma=weights).fit(),
        sm.Logit(DATA.ill, TWO).fit(disp=0),
        sm.Logit(DATA.ill, TWO).fit(disp=0, method="bfgs"),
        sm.Probit(DATA.ill, TWO).fit(disp=0),
        sm.Poisson(DATA.children, TWO).fit(disp=0),
        sm.GLM(DATA.income, TWO).fit(),
        sm.GLM(DATA.ill, TWO, family=family.Binomial()).fit(),
        sm.GLM(DATA.children, TWO, family=family.Poisson()).fit(),
        sm.GLM(DATA.income, TWO, family=family.Gaussian(), freq_weights=weights).fit(),
    ):
        assert status(result)[0] == "pass", type(result.model)


def test_an_offset_tells_its_values_and_is_for_the_checker():
    offset = -DATA.income.where(IS_PERSON, 0)
    y = 1.0 + DATA.hours / 1e6
    result = sm.GLM(y, ONE, offset=offset).fit()
    assert (result.params.iloc[0] - 1) * N == pytest.approx(DATA.income[PERSON], abs=1)
    assert status(result)[0] == "review"
    assert "`offset`" in status(result)[1]
    exposure = DATA.income / DATA.income.max()
    for result in (
        sm.Poisson(DATA.children, ONE, exposure=exposure).fit(disp=0),
        sm.GLM(DATA.children, ONE, family=sm.families.Poisson(), exposure=exposure).fit(),
    ):
        assert status(result)[0] == "review"
        assert "`exposure`" in status(result)[1]
    result = sm.Logit(DATA.ill, ONE, offset=DATA.hours / 100).fit(disp=0)
    assert "`offset`" in status(result)[1]


def test_errors_by_cluster_tell_the_value_of_one_person():
    groups = IS_PERSON.astype(int)
    options = {"groups": groups, "use_correction": False}
    result = sm.OLS(DATA.income, ONE).fit(cov_type="cluster", cov_kwds=options)
    mean, error = result.params.iloc[0], result.bse.iloc[0]
    told = [mean + sign * error * N / 2**0.5 for sign in (1, -1)]
    assert min(abs(value - DATA.income[PERSON]) for value in told) < 1
    assert status(result)[0] == "review"
    assert "cov_type='cluster'" in status(result)[1]
    logit = sm.Logit(DATA.ill, ONE).fit(disp=0, cov_type="cluster", cov_kwds={"groups": groups})
    assert "cov_type='cluster'" in status(logit)[1]
    for name, options in (("HC0", {}), ("HAC", {"maxlags": 1}), ("fixed scale", {"scale": 2.0})):
        result = sm.OLS(DATA.income, TWO).fit(cov_type=name, cov_kwds=options)
        assert status(result)[0] == "review"
        assert name in status(result)[1]


def test_a_scale_that_is_given_is_told_by_standard_errors():
    result = sm.GLM(DATA.children, TWO, family=sm.families.Poisson()).fit(
        scale=float(DATA.income[PERSON])
    )
    assert status(result)[0] == "review"
    assert "`scale`" in status(result)[1]


def test_variances_of_generalized_least_squares_are_weights():
    result = sm.GLS(DATA.income, ONE, sigma=np.where(IS_PERSON, 1e-9, 1.0)).fit()
    assert result.params.iloc[0] == pytest.approx(DATA.income[PERSON], abs=1)
    assert status(result)[0] == "fail"
    north = DATA.index < 40
    pair = [
        sm.GLS(DATA.income, ONE, sigma=np.where(some, 1.0, 1e12)).fit()
        for some in (north, north & ~IS_PERSON)
    ]
    told = 40 * pair[0].params.iloc[0] - 39 * pair[1].params.iloc[0]
    assert told == pytest.approx(DATA.income[PERSON], abs=1)
    assert status(*pair)[0] != "pass"
    matrix = np.eye(N)
    matrix[PERSON, :5] = matrix[:5, PERSON] = 0.1
    result = sm.GLS(DATA.income, ONE, sigma=matrix).fit()
    assert status(result)[0] == "review"
    assert "`sigma`" in status(result)[1]


def test_categories_of_y_with_few_fail():
    ordered = pytest.importorskip("statsmodels.miscmodels.ordinal_model").OrderedModel
    y = DATA.ill.where(DATA.index > 3, 2)
    result = sm.MNLogit(y, ONE).fit(disp=0)
    terms = np.exp(np.asarray(result.params).ravel())
    assert N * terms[1] / (1 + terms.sum()) == pytest.approx(4, abs=0.01)
    for fit in (
        result,
        sm.MNLogit(y, TWO).fit(disp=0),
        ordered(y, DATA[["age"]], distr="logit").fit(disp=0),
    ):
        assert status(fit)[0] == "fail"
        assert "records of 4 contributors, fewer than 10" in status(fit)[1]
    many = DATA.index % 3
    assert status(sm.MNLogit(many, TWO).fit(disp=0))[0] == "review"


def test_categories_of_y_are_compared_with_tables():
    y = pd.Series(np.arange(N) % 3, name="choice")
    project = Project()
    project.pie(((y == 1) | (y.index < 4)).rename("wide"))
    output = project.regression(sm.MNLogit(y, TWO).fit(disp=0))
    assert output.outcome.status == "fail"
    assert "output_0" in output.outcome.summary


@pytest.mark.parametrize("columns", [ONE, TWO, DATA[["age"]]])
@pytest.mark.parametrize("category", [0, 1])
def test_a_code_of_few_is_explained_by_no_model(columns, category):
    rare = (DATA.index > 4).astype(int) if category else (DATA.index <= 4).astype(int)
    for model in (sm.Logit, sm.Probit, sm.OLS, sm.GLM):
        options = {"family": sm.families.Binomial()} if model is sm.GLM else {}
        fit = model(rare, columns, **options).fit(**{"disp": 0} if "bit" in model.__name__ else {})
        assert status(fit)[0] == "fail", model


def test_a_robust_fit_is_judged_by_its_columns_and_its_own_weights():
    income = DATA.income.mask(IS_PERSON, 10**7)
    result = sm.RLM(income, TWO).fit()
    # The scale is a median of residuals.
    residuals = np.abs(np.sort(result.resid) / result.scale)
    assert np.isclose(residuals, 0.6744897501960817, rtol=1e-2).any()
    verdict, summary = status(result)
    assert verdict == "review"
    assert "its scale" in summary
    assert "project.compute" not in summary
    declared = Project(data=DATA.assign(income=income))
    reasons = declared.regression(result).outcome.reasons
    assert [reason.rule for reason in reasons] == ["method"]
    for columns, flag in ((TWO, IS_PERSON), (ONE, DATA.index < 3)):
        flagged = columns.assign(flag=flag.astype(float))
        assert status(sm.RLM(DATA.income, flagged).fit())[0] == "fail"
    # Of a group whose others count nothing, its coefficient is the income of who is left.
    group = DATA.index < 20
    spread = income.mask(group & (DATA.index > 0), 1e7 * (DATA.index - 10.5))
    columns = ONE.assign(flag=group.astype(float))
    result = sm.RLM(spread, columns, M=sm.robust.norms.TrimmedMean(2.0)).fit()
    assert result.params.sum() == pytest.approx(spread[result.weights[group].argmax()])
    output = Project().regression(result)
    assert output.outcome.status == "fail"
    assert "leverage" in output.outcome.summary
    # How many count nothing is not told.
    assert output.frames[1].loc["observations", "value"] == N


def test_models_whose_equations_are_not_checked_are_for_the_checker():
    ordered = pytest.importorskip("statsmodels.miscmodels.ordinal_model").OrderedModel
    groups = DATA.index % 50
    for result in (
        ordered(DATA.children.clip(upper=2), DATA[["age"]], distr="logit").fit(disp=0),
        sm.GEE(DATA.income, TWO, groups=groups).fit(),
        sm.GLSAR(DATA.income, TWO).fit(),
    ):
        assert status(result)[0] == "review"
        assert f"{type(result.model).__name__} is not checked" in status(result)[1]


def test_coefficients_that_do_not_solve_the_equations_are_for_the_checker():
    """A penalty, a constraint, another link, or a search that did not start: all tell else."""
    log = sm.families.links.Log()
    for result in (
        sm.OLS(DATA.income, TWO).fit_regularized(alpha=0.1),
        sm.GLM(DATA.income, TWO).fit_constrained("age=0.5"),
        sm.GLM(DATA.income, TWO, family=sm.families.Gamma(log)).fit(),
        sm.Logit(DATA.ill, ONE).fit(
            start_params=[0.1234], maxiter=0, disp=0, warn_convergence=False
        ),
    ):
        assert status(result)[0] == "review"
        assert "do not solve" in status(result)[1]


def test_figures_of_another_library_are_judged_only_as_least_squares():
    X, y = TWO.to_numpy(), DATA.income.to_numpy()
    model = SimpleNamespace(exog=X, endog=y)
    solution = np.linalg.lstsq(X, y, rcond=None)[0]
    honest = SimpleNamespace(model=model, params=solution, df_resid=N - 2)
    assert status(honest)[0] == "pass"
    chosen = SimpleNamespace(model=model, params=np.array([DATA.income[PERSON], 1.0]))
    assert status(chosen)[0] == "review"
    assert "do not solve" in status(chosen)[1]
    errors = SimpleNamespace(model=model, params=solution, bse=np.array([DATA.income[PERSON], 1.0]))
    assert status(errors)[0] == "review"
    assert "bse" in status(errors)[1]
    free = SimpleNamespace(model=model, params=solution, df_resid=float(DATA.income[PERSON]))
    assert status(free)[0] == "review"


def survey(seed: int) -> pd.DataFrame:
    """200 persons; of 45 women one has nearly all the income that these have together."""
    random = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "person": np.arange(200),
            "female": (np.arange(200) < 45).astype(int),
            "income": np.where(np.arange(200) < 45, 15.0, random.lognormal(8.5, 0.4, 200)).round(),
            "health": random.normal(50, 10, 200).round(1),
            "children": random.choice(4, 200, p=[0.4, 0.35, 0.22, 0.03]),
        }
    )
    data.loc[3, "income"] = 20_000.0 + seed
    return data


TELLING = {
    "a linear probability model": ["female ~ income"],
    "models that differ by an amount": [
        "health ~ female",
        "health ~ female + income",
        "income ~ 1",
    ],
    "a correlation beside a mean": ["income ~ 1", "corr"],
}


@pytest.mark.parametrize("outputs", TELLING.values(), ids=TELLING)
def test_the_sum_of_a_group_that_one_has_nearly_all_of_follows_from_no_products(outputs):
    data = survey(1)
    project = Project(data=data, contributor="person")
    project.pie(data, "female")
    for formula in outputs:
        if formula == "corr":
            project.corr(data[["female", "income"]])
        else:
            project.olsr(formula, data)
    statuses = [output.outcome.status for output in project.outputs.values()]
    assert "review" in statuses


def test_how_many_have_both_of_two_flags_is_compared_with_other_outputs():
    random = np.random.default_rng(2)
    data = pd.DataFrame(
        {
            "person": np.arange(600),
            "female": random.integers(0, 2, 600),
            "ill": random.integers(0, 2, 600),
            "income": random.lognormal(8, 0.5, 600).round(),
        }
    )
    both = data.index[(data.female == 1) & (data.ill == 1)]
    others = data.drop(index=[*both[:4], *data.index[data.female == 0][:30]])
    project = Project(data=data, contributor="person")
    project.olsr("income ~ female + ill", data)
    project.crosstab(others.female, others.ill)
    assert project.outputs["output_0"].outcome.status == "pass"
    shown = project.outputs["output_1"]
    assert shown.outcome.status != "pass" or shown.frames[0].isna().to_numpy().any()


def test_a_likelihood_that_tells_values_is_left_out():
    data = survey(2)
    project = Project(data=data, contributor="person")
    project.regression(smf.poisson("children ~ female", data).fit(disp=0))
    (output,) = project.outputs.values()
    assert not {"llf", "aic", "bic", "prsquared"} & set(output.frames[1].index)
    assert any("likelihood" in note for note in output.outcome.notes)
