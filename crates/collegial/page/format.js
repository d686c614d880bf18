// Numbers and words for people.

const whole = new Intl.NumberFormat("en-US");

/** 6 889 546 as 6,889,546. */
export const grouped = (count) => whole.format(count);

/** 6889546 as 6.89 M, with a unit behind it as 6.89 MFLOPs. */
export function short(count, unit = "") {
  for (const [size, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (count >= size) return `${(count / size).toPrecision(3)} ${prefix}${unit}`;
  }
  return `${count} ${unit}`.trim();
}

/** Three significant digits, without an exponent where that can be read. */
export function significant(value, digits = 3) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 1);
  return value.toPrecision(digits).includes("e") ? String(Math.round(value)) : value.toPrecision(digits);
}

/** 0.123 as 12.3 %. */
export const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** 2.034 as 2.03 times. */
export const times = (ratio) => (ratio >= 100 ? ratio.toFixed(0) : ratio.toFixed(2));

/** What there is fewer of, or less. */
export const fewer = (cost) => (cost === "time" ? "less time" : `fewer ${units[cost]}`);

/** What is charged for, in words. */
export const units = { params: "parameters", flops: "FLOPs", activations: "activations", time: "time" };
