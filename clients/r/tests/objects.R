# Objects of sdcTable and rtauargus in place of problems and releases.
library(tablecloak)

# As sdcTable's makeProblem() leaves it: the slots that are read, of its four classes.
for (name in c("sdcProblem", "dimInfo", "dimVar", "problemInstance")) {
  slots <- list(
    sdcProblem = c("dimInfo", "problemInstance"), dimInfo = c("dimInfo", "strInfo", "vNames"),
    dimVar = c("codesOriginal", "codesDefault", "levels", "vName", "dups"),
    problemInstance = c("strID", "Freq", "numVars", "sdcStatus")
  )[[name]]
  methods::setClass(name, slots = stats::setNames(as.list(rep("ANY", length(slots))), slots))
}
region <- methods::new("dimVar", codesOriginal = c("all", "N", "N1", "N2", "S", "S1"), vName = "region",
  codesDefault = c("000", "010", "011", "012", "020", "021"), levels = c(1, 2, 3, 3, 2, 3), dups = "S1")
size <- methods::new("dimVar", codesOriginal = c("any", "a", "b"), codesDefault = c("00", "01", "02"),
  levels = c(1, 2, 2), vName = "size", dups = NULL)
ids <- as.vector(t(outer(region@codesDefault[-6], size@codesDefault, paste0)))
value <- c(140, 50, 90, 70, 20, 50, 40, 12, 28, 30, 8, 22, 70, 30, 40)
status <- replace(rep("s", 15), c(5, 8), c("z", "u"))
made <- function(status) methods::new(
  "sdcProblem",
  dimInfo = methods::new("dimInfo", dimInfo = list(region, size), strInfo = list(c(1, 3), c(4, 5)),
    vNames = c("region", "size")),
  problemInstance = methods::new("problemInstance", strID = ids, Freq = value / 2,
    numVars = list(sales = value), sdcStatus = status)
)
problem <- as_problem(made(status))
stopifnot(
  identical(problem$request$files[["region.hrc"]], "N\n@N1\n@N2\nS\n"),
  identical(problem$request$data$value, "sales"),
  identical(problem$request$rules[[1]]$cells, list(list(region = "N", size = "a"))),
  identical(problem$request$files$data.csv$region[1:4], c("all", "all", "all", "N"))
)

cells <- data.frame(
  region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
  value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), secret = c(TRUE, rep(FALSE, 8))
)
arguments <- list(tabular = cells, explanatory_vars = c("region", "size"), secret_var = "secret")
stopifnot(
  inherits(try(as_problem(c(arguments, safety_rules = "FREQ(3,10)")), silent = TRUE), "try-error"),
  inherits(try(as_problem(cells), silent = TRUE), "try-error")
)

# The level, the tolerance and the columns of the problem are those that tab_rtauargus takes.
data <- as_problem(c(arguments, ip = 15, maxscore = "value"))$request$data
stopifnot(identical(data[c("flags_range", "tolerance", "largest")],
                    list(flags_range = 15, tolerance = 1, largest = list("value"))))
stopifnot(as_problem(arguments)$request$data$flags_range == 10)
stopifnot(as_problem(c(arguments, ip = 15), flags_range = 5)$request$data$flags_range == 5)
refused <- function(...) conditionMessage(tryCatch(as_problem(c(arguments, ...)), error = identity))
stopifnot(grepl("secret_vr.*Did you mean secret_var", refused(secret_vr = "secret")),
          grepl("suppress\\(problem, cost = \"value\"\\)", refused(cost_var = "value")))

if (nzchar(Sys.which(getOption("tablecloak.program", "tablecloak")))) {
  # N1 of size a is hidden with N2 of size a, since N of size a must be published.
  found <- suppress(made(status), time_limit = 5)$release
  stopifnot(is.na(found$value[found$region %in% c("N1", "N2") & found$size == "a"]),
            !is.na(found$value[found$region == "N" & found$size == "a"]))
  stopifnot(!audit(made(status), made(status))$is_safe)
  hidden <- replace(status, c(9, 11, 12), "x")
  stopifnot(audit(made(status), made(hidden))$is_safe)

  cells$Status <- tab_rtauargus(cells, c("region", "size"), secret_var = "secret", freq = NULL)$Status
  stopifnot(audit(arguments, cells)$is_safe)
  cells$Status[cells$Status == "D"] <- "V"
  stopifnot(!audit(arguments, cells)$is_safe)

  # What tab_rtauargus hides for 10 % is enough for the problem of the same arguments.
  wide <- list(
    tabular = data.frame(
      region = rep(c("N", "S", "E", "Total"), each = 4), size = rep(c("a", "b", "c", "Total"), 4),
      value = c(100, 900, 800, 1800, 14, 700, 600, 1314, 500, 300, 400, 1200, 614, 1900, 1800, 4314),
      freq = 9, secret = c(TRUE, rep(FALSE, 15))
    ),
    explanatory_vars = c("region", "size"), secret_var = "secret", ip = 10
  )
  stopifnot(audit(wide, do.call(tab_rtauargus, wide))$is_safe)
}
