# The five calls on the four tables of turnover of INSEE, answered by the program itself.
library(tablecloak)

folder <- Sys.getenv("TABLECLOAK_DATA")
if (folder == "") {
  message("Not run: TABLECLOAK_DATA names no folder with the tables of INSEE.")
  quit(status = 0)
}
read <- function(name, codes) {
  utils::read.csv(
    file.path(folder, paste0(name, ".csv.gz")),
    colClasses = stats::setNames(rep("character", length(codes)), codes)
  )
}
variables <- list(
  act_size = c("ACTIVITY", "SIZE"), act_cj = c("ACTIVITY", "CJ"),
  nuts_size = c("NUTS", "SIZE"), nuts_cj = c("NUTS", "CJ")
)
tables <- lapply(stats::setNames(names(variables), names(variables)), function(name) {
  table <- read(paste0("turnover_", name), variables[[name]])
  few <- table$N_OBS > 0 & table$N_OBS < 3
  table$is_secret_prim <- few | (table$MAX != 0 & table$MAX / table$TOT > 0.85)
  table
})

# 1. write_hrc2
out <- tempfile("insee-")
activity <- read("activity_corr_table", c("A10", "A21", "A88"))
nuts <- read("nuts23_fr_corr_table", c("NUTS2", "NUTS3"))
hrc <- c(
  ACTIVITY = write_hrc2(activity, file_name = file.path(out, "activity")),
  NUTS = write_hrc2(nuts, file_name = file.path(out, "nuts"))
)
stopifnot(file.exists(hrc), "AZ" %in% readLines(hrc[["ACTIVITY"]]))

# 2. tab_rtauargus, on each table
for (name in names(tables)) {
  own <- intersect(names(hrc), variables[[name]])
  found <- tab_rtauargus(
    tables[[name]], variables[[name]], hrc = hrc[own], value = "TOT", freq = "N_OBS",
    secret_var = "is_secret_prim", summary_secret = TRUE, time_limit = 5
  )
  cat(name, "\n")
  print(found$stats)
  stopifnot(
    nrow(found$mask) == nrow(tables[[name]]),
    found$mask$Status[found$mask$is_secret_prim] == "B",
    found$mask$Status[!found$mask$is_secret_prim] %in% c("D", "V")
  )
}

# 3. tab_multi_manager, on all four
found <- tab_multi_manager(
  tables, variables, hrc = hrc, value = "TOT", freq = "N_OBS", summary_secret = TRUE,
  time_limit = 10
)
print(found$stats)
for (name in names(tables)) stopifnot(found[[name]]$is_secret_1[tables[[name]]$is_secret_prim])
shared <- merge(
  found$act_size[found$act_size$SIZE == "Total", c("ACTIVITY", "is_secret_1")],
  found$act_cj[found$act_cj$CJ == "Total", c("ACTIVITY", "is_secret_1")], by = "ACTIVITY"
)
stopifnot(nrow(shared) > 50, shared$is_secret_1.x == shared$is_secret_1.y)

# 4. analyse_metadata
metadata <- data.frame(
  table_name = names(variables), field = "france", hrc_field = NA, indicator = "TOT",
  hrc_indicator = NA, spanning_1 = vapply(variables, function(each) each[1], ""),
  hrc_spanning_1 = c("hrc_naf", "hrc_naf", "hrc_nuts", "hrc_nuts"),
  spanning_2 = vapply(variables, function(each) each[2], ""), hrc_spanning_2 = NA
)
plan <- analyse_metadata(metadata)
print(plan)
stopifnot(nrow(plan) == 4, plan$cluster == "france.TOT")

# 5. run_arb, on each table
for (name in names(tables)) {
  rda <- '<SEPARATOR> ","'
  for (variable in variables[[name]]) {
    rda <- c(rda, paste(variable, 6), "<RECODEABLE>", '<TOTCODE> "Total"')
    if (variable %in% names(hrc)) {
      rda <- c(rda, "<HIERARCHICAL>", paste0('<HIERCODELIST> "', basename(hrc[[variable]]), '"'),
               '<HIERLEADSTRING> "@"')
    }
  }
  rda <- c(rda, "TOT 20", "<NUMERIC>", "<DECIMALS> 4", "N_OBS 10", "<NUMERIC>", "<FREQUENCY>",
           "MAX 20", "<NUMERIC>", "<DECIMALS> 4", "<MAXSCORE>")
  writeLines(rda, file.path(out, paste0(name, ".rda")))
  utils::write.table(
    tables[[name]][c(variables[[name]], "TOT", "N_OBS", "MAX")],
    file.path(out, paste0(name, ".tab")), sep = ",", quote = FALSE, row.names = FALSE,
    col.names = FALSE
  )
  arb <- file.path(out, paste0(name, ".arb"))
  writeLines(c(
    paste0('<OPENTABLEDATA> "', name, '.tab"'), paste0('<OPENMETADATA> "', name, '.rda"'),
    paste0('<SPECIFYTABLE> "', paste(variables[[name]], collapse = '""'), '"|"TOT"||'),
    "<SAFETYRULE> FREQ(3,10)|NK(1,85)", "<READTABLE> 1", "<SUPPRESS> MOD(1,1,0,0,0)",
    paste0('<WRITETABLE> (1,4,,"', name, '.csv")')
  ), arb)
  written <- run_arb(arb, verbose = FALSE, import = TRUE)
  stopifnot(names(written) == paste0(name, ".csv"), c("B", "D", "V") %in% written[[1]]$V5)
}
cat("All five calls were answered.\n")
