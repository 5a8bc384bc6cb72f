/** Doubles in Go's formats. */

/** Go's `%g`: the shortest digits, with an exponent at a million and above, and below a ten-thousandth. */
export function showDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (Object.is(value, -0)) return '-0'
  const { sign, digits, exponent } = decompose(value)
  if (exponent >= -4 && exponent < 6) return plainDouble(value)
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : ''
  const size = String(Math.abs(exponent)).padStart(2, '0')
  return `${sign}${digits.slice(0, 1)}${fraction}e${exponent < 0 ? '-' : '+'}${size}`
}

/** The shortest digits without an exponent. */
export function plainDouble(value: number): string {
  const { sign, digits, exponent } = decompose(value)
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  const fraction = digits.slice(exponent + 1)
  return `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Go's `%f` with this precision. */
export function fixedDouble(value: number, precision: number): string {
  // toFixed would write an exponent for larger numbers, which have no fraction.
  if (Math.abs(value) < 1e21) return value.toFixed(precision)
  const whole = BigInt(value).toString()
  return precision === 0 ? whole : `${whole}.${'0'.repeat(precision)}`
}

function decompose(value: number): { sign: string; digits: string; exponent: number } {
  const [mantissa = '', exponent = '0'] = Math.abs(value).toExponential().split('e')
  return { sign: value < 0 ? '-' : '', digits: mantissa.replace('.', ''), exponent: Number(exponent) }
}
