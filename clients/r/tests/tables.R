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
  grepl("v, row 1.*2\\^53", refused(protect(data.frame(a = 1:2, v = c(2^53, 1)), "a", "v"))),
  grepl("list\\(region", refused(protect(firms, c(region = "nace")))),
  grepl("value, row 2.*not finite", refused(protect(data.frame(a = 1:2, value = c(1, Inf)), "a", "value"))),
  grepl("two columns a", refused(protect(data.frame(a = 1, a = 2, check.names = FALSE), "a")))
)
# Keys of the job stand beside its data.
linked <- protect(firms, c("nace", "region"), tables = list(list(dimensions = "nace")), unit = "EUR")$request
stopifnot(identical(linked$tables, list(list(dimensions = "nace"))), identical(linked$data$unit, "EUR"))
# Every key of a file, and no other, is relative to the folder in which R works; a table becomes a file.
job <- list(
  data = list(file = "data.csv"), files = list(data.csv = firms), title = "reg", register = list(folder = "reg"),
  published = list(list(file = "old.csv", problem = "/old.jj"), list(file = firms)), suppression = list(previous = firms),
  transmission = list(template = "asked.csv"), perturbation = list(kind = "counts", ptable = "ptable.csv")
)
here <- function(name) file.path(getwd(), name)
made <- tablecloak:::located(job, tablecloak:::absolute)
stopifnot(
  identical(made$data$file, "data.csv"), identical(made$title, "reg"), identical(made$register$folder, here("reg")),
  identical(made$published[[1]], list(file = here("old.csv"), problem = "/old.jj")),
  identical(made$published[[2]]$file, "file.csv"), identical(made$suppression$previous, "previous.csv"),
  identical(made$transmission$template, here("asked.csv")), identical(made$perturbation$ptable, here("ptable.csv")),
  identical(names(made$files), c("data.csv", "file.csv", "previous.csv")), identical(made$files$previous.csv, firms)
)
# What is no CSV is not written under another name; a table of Excel in German is one of five columns.
path <- tempfile(fileext = ".csv")
utils::write.csv2(data.frame(code = c("01", "a;b"), value = c(1.5, NA), whole = 1:2), path, row.names = FALSE, na = "")
stopifnot(
  identical(read_cells(path), data.frame(code = c("01", "a;b"), value = c(1.5, NA), whole = c(1, 2))),
  grepl("ends in .csv", refused(write_cells(firms, "cells.parquet"))),
  grepl("There is no file", refused(read_cells("missing.csv"))),
  # A file is not read in a wrong encoding, nor a number as another one.
  grepl("line 2.*encoding", {
    writeBin(c(charToRaw("code;value\nS"), as.raw(0xfc), charToRaw("d;3,5\n")), path)
    refused(read_cells(path))
  }),
  identical(read_cells(path, encoding = "windows-1252"), data.frame(code = "S\u00fcd", value = 3.5)),
  grepl("Column value.*1.234,5", {
    writeLines(c("code;value", "N;1.234,5", "S;12,25"), path)
    refused(read_cells(path))
  }),
  grepl("Column value", {
    writeLines(c("code;value", "N;1.234", "S;12,25"), path)
    refused(read_cells(path))
  }),
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

  # A cell of which it is not said whether it is sensitive might be; rows are those of the data frame.
  flags <- cells
  flags$secret <- c(NA, rep(FALSE, 8))
  flagged <- protect(flags, c("region", "size"), "value", finished = TRUE, flags = "secret")
  stopifnot(grepl("Row 1 of data.*empty", refused(suppress(flagged))),
            grepl("Row 1 of data.*empty", refused(publish(flagged, tempfile()))))
  # The second release of the same records is held against the first, which a folder of the user registers.
  home <- setwd(tempdir())
  groups <- data.frame(
    nace = rep(paste0("n", 1:4), c(1, 3, 3, 4)), region = c("N", "N", "N", "S", "N", "S", "S", "N", "S", "N", "S"),
    size = c("b", "b", "a", "a", "b", "b", "a", "b", "b", "a", "a"),
    total = c(300, 100, 800, 100, 100, 800, 100, rep(5000, 4)), firms = c(2, rep(10, 10))
  )
  firms <- groups[rep(seq_len(11), groups$firms), 1:3]
  firms$turnover <- rep(groups$total / groups$firms, groups$firms)
  for (by in c("region", "size")) {
    table <- protect(firms, c("nace", by), "turnover", rule("minimum-frequency", minimum = 3))
    publish(table, paste0("out-", by),
            list(suppression = list(time_limit = 5), register = list(folder = "releases", series = "2025")))
  }
  hidden <- lapply(c("region", "size"), function(by) {
    margin <- read_cells(file.path(paste0("out-", by), "release", "suppression", "table.csv"))
    margin$nace[margin[[by]] == "Total" & is.na(margin$turnover)]
  })
  stopifnot(dir.exists("releases"), identical(hidden[[1]], hidden[[2]]))
  # An earlier release may be a table, a file, or a release.
  before <- suppress(table, time_limit = 5)
  write_cells(as.data.frame(before), "before.csv")
  for (previous in list("before.csv", file.path(getwd(), "before.csv"), as.data.frame(before), before)) {
    stopifnot(suppress(table, previous = previous, time_limit = 5)$is_safe)
  }
  setwd(home)
  # Two linked tables of the same records are one problem; their third dimension is at its total.
  firms$id <- seq_len(nrow(firms))
  linked <- protect(firms, c("nace", "region", "size"), "turnover", rule("minimum-frequency", minimum = 3),
                    tables = list(list(dimensions = c("nace", "region")), list(dimensions = c("nace", "size"))))
  both <- suppress(linked, time_limit = 5)
  stopifnot(both$is_safe, with(as.data.frame(both), all(region == "Total" | size == "Total")))
  # Of noise nothing is proved, and so nothing is said of its safety unless it fails.
  ptable <- data.frame(i = c(0, 1, 1, 1, 1), j = c(0, 0, 1, 2, 3), p = c(1, .4, .35, .1, .15),
                       v = c(0, -1, 0, 1, 2), p_int_ub = c(1, .4, .75, .85, 1))
  keyed <- data.frame(a = rep(c("x", "y"), 30), record_key = (0.5 + 0:59) / 60)
  noise <- cell_keys(protect(keyed, "a"), ptable)
  stopifnot(is.logical(noise$is_safe), !isTRUE(noise$is_safe),
            any(grepl("nothing is proved|NOT SAFE", utils::capture.output(noise))))
  # Notes are printed: against whom no pattern can protect stands there.
  noted <- structure(list(is_safe = TRUE, promise = "p", summary = "s", notes = list("nothing is claimed")),
                     class = "tablecloak_release")
  stopifnot("Note: nothing is claimed" %in% utils::capture.output(noted))

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
  stopifnot(grepl("could not be checked.*minutes", refused(verify(certificate, verifier = "python", minutes = 1e-6))))
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
