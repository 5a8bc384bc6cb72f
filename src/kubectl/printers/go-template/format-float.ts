/** A float with a verb such as `f`, and with the shortest digits or a precision. Undefined for other verbs. */
export function formatFloatWith(
  value: number,
  verb: string,
  precision: number | undefined,
): string | undefined {
  if (!'eEfFgGv'.includes(verb)) return undefined
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const decimal = decimalOf(Math.abs(value))
  switch (verb) {
    case 'e':
    case 'E':
      return (
        sign +
        exponential(roundTo(decimal, (precision ?? 6) + 1), { digits: (precision ?? 6) + 1, letter: verb })
      )
    case 'f':
    case 'F':
      return sign + fixed(roundTo(decimal, decimal.point + (precision ?? 6)), precision ?? 6)
    default:
      return sign + general(value, decimal, { letter: verb === 'G' ? 'E' : 'e', precision })
  }
}

/** The number is `0.digits` times ten to the power of `point`. Without digits it is zero. */
interface Decimal {
  readonly digits: string
  readonly point: number
}

/** All digits of the number, without rounding. */
function decimalOf(value: number): Decimal {
  if (value === 0) return { digits: '', point: 0 }
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, value)
  const word = bits.getBigUint64(0)
  const biased = Number((word >> 52n) & 0x7ffn)
  const fraction = word & 0xf_ffff_ffff_ffffn
  const mantissa = biased === 0 ? fraction : fraction | 0x10_0000_0000_0000n
  const power = Math.max(biased, 1) - 1_075
  const places = Math.max(0, -power)
  const digits = (power >= 0 ? mantissa << BigInt(power) : mantissa * 5n ** BigInt(places)).toString()
  return { digits: trimZeros(digits), point: digits.length - places }
}

/** The shortest digits from which the number can be read back. */
function shortestOf(value: number): Decimal {
  const [digits = '', power = '0'] = value.toExponential().split('e')
  return value === 0
    ? { digits: '', point: 0 }
    : { digits: trimZeros(digits.replace('.', '')), point: Number(power) + 1 }
}

/** At most `count` digits. A half is rounded to the even digit. */
function roundTo({ digits, point }: Decimal, count: number): Decimal {
  if (count >= digits.length) return { digits, point }
  if (count < 0) return { digits: '', point: 0 }
  const kept = digits.slice(0, count)
  const rest = digits.slice(count)
  const isOdd = Number(kept.at(-1) ?? 0) % 2 === 1
  const roundsUp = rest.startsWith('5') && rest.length === 1 ? isOdd : rest >= '5'
  if (!roundsUp) return { digits: trimZeros(kept), point }
  const raised = (BigInt(kept === '' ? '0' : kept) + 1n).toString().padStart(kept.length, '0')
  return { digits: trimZeros(raised), point: point + raised.length - kept.length }
}

function trimZeros(digits: string): string {
  return digits.replace(/0+$/, '')
}

interface ExponentialFormat {
  readonly digits: number
  readonly letter: string
}

function exponential({ digits, point }: Decimal, { digits: count, letter }: ExponentialFormat): string {
  const all = digits.padEnd(count, '0')
  const fraction = count > 1 ? `.${all.slice(1, count)}` : ''
  const power = digits === '' ? 0 : point - 1
  return `${all.charAt(0)}${fraction}${letter}${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

function fixed({ digits, point }: Decimal, places: number): string {
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0'
  if (places === 0) return whole
  const fraction = point > 0 ? digits.slice(point) : '0'.repeat(digits === '' ? 0 : -point) + digits
  return `${whole}.${fraction.padEnd(places, '0')}`
}

interface GeneralFormat {
  readonly letter: string
  readonly precision: number | undefined
}

/** With an exponent if the number is very small or very large. */
function general(value: number, decimal: Decimal, { letter, precision }: GeneralFormat): string {
  const wanted = precision === 0 ? 1 : precision
  const shown = wanted === undefined ? shortestOf(Math.abs(value)) : roundTo(decimal, wanted)
  const { digits, point } = shown
  const power = point - 1
  const isWhole = digits.length >= point
  const most = wanted === undefined ? 6 : isWhole ? Math.min(wanted, digits.length) : wanted
  if (digits !== '' && (power < -4 || power >= most)) {
    return exponential(shown, { digits: digits.length, letter })
  }
  return fixed(shown, Math.max(0, digits.length - point))
}
