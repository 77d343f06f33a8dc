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
refused <- function(question) conditionMessage(tryCatch(question, error = identity))
# Keys of a job file in place of codes, and hierarchies as files or tables.
nace <- tempfile(fileext = ".hrc")
writeLines(c("C", "@10", "@24"), nace)
firms <- data.frame(nace = c("10", "24"), region = c("N", "S"))
problem <- protect(firms, list(nace = nace, region = list(total = "All", hierarchy = data.frame(1:2, c("N", "S")))))
stopifnot(
  identical(problem$request$dimensions, list(
    nace = list(hierarchy = "hierarchy-1.hrc"), region = list(total = "All", hierarchy = "hierarchy-2.csv")
  )),
  identical(problem$request$files[["hierarchy-1.hrc"]], "C\n@10\n@24\n"),
  identical(names(problem$request$files), c("data.csv", "hierarchy-1.hrc", "hierarchy-2.csv")),
  length(protect(firms, list(nace = list(), region = NULL))$request$dimensions$nace) == 0,
  grepl("list by these", refused(protect(firms, list("nace", "region")))),
  grepl("no file", refused(protect(firms, list(nace = "missing.hrc")))),
  grepl("rule\\(\\.\\.\\.\\)", refused(protect(firms, "nace", rules = "p-percent"))),
  grepl("value, row 2.*not finite", refused(protect(data.frame(a = 1:2, value = c(1, Inf)), "a", "value"))),
  grepl("two columns a", refused(protect(data.frame(a = 1, a = 2, check.names = FALSE), "a")))
)
# What is no CSV is not written under another name; a table of Excel in German is one of five columns.
path <- tempfile(fileext = ".csv")
utils::write.csv2(data.frame(code = c("01", "a;b"), value = c(1.5, NA), whole = 1:2), path, row.names = FALSE, na = "")
stopifnot(
  identical(read_cells(path), data.frame(code = c("01", "a;b"), value = c(1.5, NA), whole = c(1, 2))),
  grepl("ends in .csv", refused(write_cells(firms, "cells.parquet"))),
  grepl("There is no file", refused(read_cells("missing.csv"))),
  # A problem is a secret table, and no path that may stand among the words of a process.
  grepl("path of a file", refused(verify(path, original = problem)))
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

  # What is printed is what is proved: of adjusted values less than of a pattern, of cell keys nothing.
  stopifnot(
    any(grepl("nobody who knows", utils::capture.output(pattern))),
    any(grepl("not proved that the truth", gsub("\n", " ", paste(utils::capture.output(adjust(problem)), collapse = " "))))
  )
  # Rounded values are attacked by who knows the base.
  counts <- protect(cells, c("region", "size"), "firms", rule("minimum-frequency", minimum = 3),
                    finished = TRUE, frequency = "firms")
  rounded <- round_counts(counts, base = 5)
  stopifnot(rounded$is_safe, audit(counts, rounded)$is_safe,
            audit(counts, as.data.frame(rounded), made = "rounding:5")$is_safe)
  # Without a release that is safe there is none.
  values <- cells
  values$value <- 10 * values$value
  even <- protect(values, c("region", "size"), "value", rule("minimum-frequency", minimum = 3),
                  finished = TRUE, frequency = "firms")
  unsafe <- round_counts(even, base = 10)
  stopifnot(!unsafe$is_safe, grepl("no release", refused(as.data.frame(unsafe))))
  renamed <- cells
  renamed[1:2] <- lapply(renamed[1:2], sub, pattern = "Total", replacement = "All")
  total <- list(total = "All")
  renamed <- protect(renamed, list(region = total, size = total), "value", rule("minimum-frequency", minimum = 3),
                     finished = TRUE, frequency = "firms")
  stopifnot(sum(is.na(as.data.frame(suppress(renamed, time_limit = 5))$value)) == 4)
  stopifnot(is.logical(compare(problem, time_limit = 5, executor = "threads:2")$safe),
            grepl("list\\(\\.\\.\\.\\)", refused(adjust(problem, preserve = "regression"))),
            adjust(problem, preserve = list("mean:all"), time_limit = 5)$is_safe,
            grepl("see \\?rule", refused(suppress(protect(firms, "nace")))),
            grepl("^No such option: --risk", refused(compare(problem, risk_limt = 0.1))))

  folder <- tempfile()
  stopifnot("table.csv" %in% basename(publish(problem, folder, list(suppression = list(), threads = 1))))
  certificate <- list.files(file.path(folder, "internal"), pattern = "npz$", full.names = TRUE)
  for (name in c("python", if (nzchar(Sys.which("node"))) "node")) {
    checked <- verify(certificate, verifier = name)
    stopifnot(checked$proved, checked$verifier == name)
  }
  bytes <- readBin(certificate, "raw", 1e6)
  spoilt <- tempfile(fileext = ".npz")
  writeBin(rev(bytes), spoilt)
  stopifnot(!verify(spoilt)$proved)
  # Where nothing was checked, nothing is refused.
  stopifnot(grepl("cells.txt", refused(verify(certificate, original = {
    writeLines("x", file.path(folder, "cells.txt"))
    file.path(folder, "cells.txt")
  }))))

  noisy <- data.frame(region = c("N", "S", "Total"), value = c(1, 2, 6))
  stopifnot(sum(reconcile(noisy, "region")$value * c(1, 1, -1)) == 0)
  people <- data.frame(wage = c(10, 20, 30, 40, 50, 60), hours = 1:6)
  means <- protect_records(people, "microaggregate", column = c("wage", "hours"), k = 3)
  stopifnot(min(table(means$wage)) >= 3, sum(means$wage) == 210)
}
