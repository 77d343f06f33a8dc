# Questions to the program: each function once, with what must hold of the answer.
library(tablecloak)
# No parameter is taken for the start of the name of an argument.
stopifnot(identical(rule("dominance", n = 1, k = 85), list(rule = "dominance", n = 1, k = 85)))
# A list of one code is a list, and one rule a list of rules.
seats <- data.frame(dep = c("75", "92", "13"), firms = 1)
problem <- protect(seats, list(dep = list(IDF = c("75", "92"), PACA = "13")), rules = rule("manual"))
stopifnot(
  identical(problem$request$dimensions$dep$hierarchy, list(IDF = list("75", "92"), PACA = list("13"))),
  identical(problem$request$rules, list(rule("manual"))),
  inherits(try(protect(seats[0, ], "dep"), silent = TRUE), "try-error")
)
if (nzchar(Sys.which(getOption("tablecloak.program", "tablecloak")))) {
  cells <- data.frame(
    region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
    value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), firms = c(9, 1, 10, 9, 9, 18, 18, 10, 28)
  )
  problem <- protect(cells, c("region", "size"), "value", list(rule("minimum-frequency", minimum = 3)),
                     finished = TRUE, frequency = "firms")
  pattern <- suppress(problem, time_limit = 5)
  # One sensitive cell; three more make a rectangle around it.
  stopifnot(pattern$is_safe, sum(is.na(as.data.frame(pattern)$value)) == 4)
  naive <- cells[c("region", "size", "value")]
  naive$value[2] <- NA
  stopifnot(!audit(problem, naive)$is_safe, audit(problem, pattern)$is_safe)

  folder <- tempfile()
  stopifnot("table.csv" %in% basename(publish(problem, folder)))
  certificate <- list.files(file.path(folder, "internal"), pattern = "npz$", full.names = TRUE)
  for (name in c("python", if (nzchar(Sys.which("node"))) "node")) {
    checked <- verify(certificate, verifier = name)
    stopifnot(checked$proved, checked$verifier == name)
  }
  bytes <- readBin(certificate, "raw", 1e6)
  spoilt <- tempfile(fileext = ".npz")
  writeBin(rev(bytes), spoilt)
  stopifnot(!verify(spoilt)$proved)

  noisy <- data.frame(region = c("N", "S", "Total"), value = c(1, 2, 6))
  stopifnot(sum(reconcile(noisy, "region")$value * c(1, 1, -1)) == 0)
  people <- data.frame(wage = c(10, 20, 30, 40, 50, 60), hours = 1:6)
  means <- protect_records(people, "microaggregate", column = c("wage", "hours"), k = 3)
  stopifnot(min(table(means$wage)) >= 3, sum(means$wage) == 210)
}
