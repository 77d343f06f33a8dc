# Figures of sdcMicro in test_sdcmicro.py; made with version 5.8.1: Rscript sdcmicro.R
suppressMessages(library(sdcMicro))
show <- function(name, ...) cat(name, format(c(...), digits = 12, trim = TRUE), "\n")
data(testdata)
data(CASCrefmicrodata)
data(Tarragona)
data(EIA)
keys <- c("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")
for (name in keys) testdata[[name]] <- as.factor(testdata[[name]])

sdc <- createSdcObj(testdata, keyVars = keys, weightVar = "sampling_weight", hhId = "ori_hid")
risk <- get.sdcMicroObj(sdc, "risk")$global
show("risk", risk$risk, risk$risk_ER, risk$hier_risk, risk$hier_risk_ER, max(sdc@risk$individual[, "risk"]))
s <- suda2(testdata, variables = keys)
show("suda2", sum(s$score), max(s$score), sum(s$disScore), max(s$disScore))
l <- unclass(ldiversity(testdata, keyVars = c("urbrur", "roof", "sex"), ldiv_index = "walls"))
show("ldiversity", colSums(l[, 1:2]))

for (k in c(2, 3, 5)) {
  sdc <- localSuppression(createSdcObj(testdata, keyVars = keys), k = k)
  show(paste("localSuppression", k), sum(is.na(sdc@manipKeyVars)))
}

files <- list(
  CASCrefmicrodata = CASCrefmicrodata[, c("AGI", "FEDTAX", "PTOTVAL", "INTVAL")],
  Tarragona = Tarragona[, 1:5],
  EIA = EIA[, c("RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES")]
)
for (name in names(files)) for (k in c(3, 5, 10)) {
  x <- as.data.frame(lapply(files[[name]], as.numeric))
  xm <- as.data.frame(microaggregation(x, method = "mdav", aggr = k)$mx)
  z <- scale(x)
  lost <- sum((z - scale(xm, center = colMeans(x), scale = apply(x, 2, sd)))^2) / sum(z^2)
  utility <- sapply(c("IL1s", "eigen"), function(m) dUtility(x, xm, method = m))
  show(paste(name, k), lost, dRisk(x, xm), utility)
}
