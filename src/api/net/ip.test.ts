import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatFieldErrors, type FieldError } from '../field-error.ts'
import {
  bitsOf,
  compareIps,
  formatIp,
  ipFromValue,
  isMappedIp,
  offsetIp,
  parseIp,
  parseIpLeniently,
  unmapIp,
  validateIp,
  validateNonSpecialIp,
  validateIpForLegacyField,
  warningsForIp,
  type Ip,
} from './ip.ts'

/** `FE80::1 -> fe80::1`: the input and its canonical form. */
function check(lines: string): void {
  for (const line of lines.trim().split('\n')) {
    const [text = '', expected] = line.trim().split(' -> ')
    assert.equal(formatIp(ip(text)), expected, line)
  }
}

function ip(text: string): Ip {
  return parseIp(text) ?? assert.fail(text)
}

test('IP addresses are parsed and formatted canonically', () => {
  check(`
    0.0.0.0 -> 0.0.0.0
    10.96.0.1 -> 10.96.0.1
    255.255.255.255 -> 255.255.255.255
    :: -> ::
    ::1 -> ::1
    1:: -> 1::
    FE80:0:0:0:0:0:0:0ABC -> fe80::abc
    2001:db8:0:0:1:0:0:1 -> 2001:db8::1:0:0:1
    2001:db8:0:1:1:1:1:1 -> 2001:db8:0:1:1:1:1:1
    1:0:0:2:0:0:0:3 -> 1:0:0:2::3
    0:0:1:: -> 0:0:1::
    1:2:3:4:5:6:7:8 -> 1:2:3:4:5:6:7:8
    1:2:3:4:5:6:7:: -> 1:2:3:4:5:6:7:0
    ::2:3:4:5:6:7:8 -> 0:2:3:4:5:6:7:8
    ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff -> ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
    ::ffff:10.0.0.1 -> ::ffff:10.0.0.1
    ::ffff:a00:1 -> ::ffff:10.0.0.1
    64:ff9b::1.2.3.4 -> 64:ff9b::102:304
    1:2:3:4:5:6:1.2.3.4 -> 1:2:3:4:5:6:102:304
  `)
})

test('invalid IP addresses are rejected', () => {
  const refused = `1.2.3 1.2.3.4.5 256.1.1.1 01.2.3.4 1.2.3.04 00.0.0.0 1..2.3 .1.2.3 1.2.3. 1.2.3.4/24
    1.2.3.-4 +1.2.3.4 0x1.2.3.4 1.2.3.4e0
    : ::: 1::2::3 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7:8:: ::1:2:3:4:5:6:7:8 12345:: 00001:: g::
    fe80::1%eth0 [::1] :1 1:
    ::1.2.3 ::1.2.3.4.5 ::01.2.3.4 1.2.3.4:: 1:2:3:4:5:6:7:1.2.3.4 ::1.2.3.4:1 __proto__ localhost １.2.3.4`
  for (const text of ['', ' 1.2.3.4', '1.2.3.4 ', '1.2.3.4\n', '::1\n', ...refused.split(/\s+/)]) {
    assert.equal(parseIp(text), undefined, text)
  }
  for (const piece of ['1.', ':', '::', '1:', '0', 'f']) {
    assert.equal(parseIp(piece.repeat(500_000)), undefined)
  }
  assert.equal(parseIp(`${'1.'.repeat(500_000)}::`), undefined)
})

test('leading zeros are accepted only by lenient parsing, as decimal', () => {
  const check = (text: string, expected: string): void => {
    assert.equal(parseIp(text), undefined)
    assert.equal(formatIp(parseIpLeniently(text) ?? assert.fail(text)), expected)
  }
  check('010.002.003.004', '10.2.3.4')
  check('0000000001.2.3.4', '1.2.3.4')
  check('::ffff:010.0.0.1', '::ffff:10.0.0.1')
  check('00001::', '1::')
  assert.equal(parseIpLeniently('0256.1.1.1'), undefined)
})

test('IP addresses convert to integers and compare like them', () => {
  assert.equal(ip('10.0.0.1').value, 0x0a000001n)
  assert.equal(ip('::1').value, 1n)
  assert.equal(ipFromValue(4, 2n ** 32n), undefined)
  assert.equal(ipFromValue(6, 2n ** 128n), undefined)
  assert.equal(ipFromValue(4, -1n), undefined)
  assert.deepEqual(offsetIp(ip('10.0.0.255'), 1), ip('10.0.1.0'))
  assert.deepEqual(offsetIp(ip('::1'), -1n), ip('::'))
  assert.equal(offsetIp(ip('255.255.255.255'), 1), undefined)
  assert.equal(offsetIp(ip('::'), -1), undefined)
  const sorted = ['0.0.0.1', '9.0.0.0', '10.0.0.0', '::', '::1', 'fe80::'].map(ip)
  assert.deepEqual(sorted.toReversed().sort(compareIps), sorted)
  assert.deepEqual([bitsOf(4), bitsOf(6)], [32, 128])
})

test('an IPv4-mapped address can be unmapped', () => {
  assert.equal(isMappedIp(ip('::ffff:1.2.3.4')), true)
  assert.deepEqual(unmapIp(ip('::ffff:1.2.3.4')), ip('1.2.3.4'))
  for (const text of ['1.2.3.4', '::1.2.3.4', '::fffe:1.2.3.4', '1::ffff:1.2.3.4']) {
    assert.equal(isMappedIp(ip(text)), false)
    assert.deepEqual(unmapIp(ip(text)), ip(text))
  }
})

test('formatted IP addresses round trip', () => {
  const groups = fc.array(fc.constantFrom(0n, 0n, 1n, 0xffffn), { minLength: 8, maxLength: 8 })
  const sparse = groups.map(parts => parts.reduce<bigint>((value, group) => (value << 16n) | group, 0n))
  const values = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), sparse)
  fc.assert(
    fc.property(values, value => {
      for (const address of [
        { family: 6, value },
        { family: 4, value: value & 0xffffffffn },
      ] as const) {
        const text = formatIp(address)
        assert.deepEqual(parseIp(text), address)
        assert.deepEqual(parseIp(text.toUpperCase()), address)
        if (isMappedIp(address)) continue
        assert.deepEqual(warningsForIp('x', text), [])
        // The URL parser follows the same rules, except for IPv4-mapped addresses.
        const host = address.family === 6 ? `[${text}]` : text
        assert.equal(new URL(`http://${host}`).hostname, host)
      }
    }),
  )
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('0', '1', 'f', ':', '::', '.', '255', '01') }), text => {
      const parsed = parseIp(text)
      if (parsed !== undefined) assert.deepEqual(parseIpLeniently(text), parsed)
    }),
  )
})

function checkErrors(errors: readonly FieldError[], expected: string): void {
  assert.equal(errors.length === 0 ? '' : formatFieldErrors(errors), expected)
}

test('new fields require canonical IPs, legacy fields unambiguous ones', () => {
  const malformed = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
  checkErrors(validateIp('ip', '10.0.0.1'), '')
  checkErrors(validateIp('ip', 'fe80::1'), '')
  checkErrors(
    validateIp('ip', 'FE80::1'),
    'ip: Invalid value: "FE80::1": must be in canonical form ("fe80::1")',
  )
  checkErrors(validateIpForLegacyField('ip', 'FE80::1'), '')
  for (const validate of [validateIp, validateIpForLegacyField]) {
    checkErrors(validate('ip', 'x'), `ip: Invalid value: "x": ${malformed}`)
    checkErrors(validate('ip', ''), `ip: Invalid value: "": ${malformed}`)
    checkErrors(validate('ip', '010.0.0.1'), 'ip: Invalid value: "010.0.0.1": must not have leading 0s')
    checkErrors(
      validate('ip', '::ffff:1.2.3.4'),
      'ip: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address',
    )
  }
  checkErrors(validateIpForLegacyField('ip', '010.0.0.1', ['010.0.0.1']), '')
})

test('loopback, link-local, unspecified and multicast addresses are rejected', () => {
  const loopback = 'may not be in the loopback range (127.0.0.0/8, ::1/128)'
  const linkLocal = 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'
  const multicast = 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'
  const cases = {
    '10.0.0.1': '',
    '2001:db8::1': '',
    '128.0.0.0': '',
    '224.0.1.1': '',
    'ff03::1': '',
    '::2': '',
    '0.0.0.0': 'may not be unspecified (0.0.0.0)',
    '::': 'may not be unspecified (::)',
    '127.0.0.1': loopback,
    '127.255.0.1': loopback,
    '::1': loopback,
    '::ffff:127.0.0.1': loopback,
    '169.254.1.1': linkLocal,
    'fe80::1': linkLocal,
    'febf::1': linkLocal,
    '224.0.0.251': multicast,
    'ff02::fb': multicast,
    'x': 'must be a valid IP address',
  }
  for (const [value, message] of Object.entries(cases)) {
    checkErrors(
      validateNonSpecialIp('ip', value),
      message === '' ? '' : `ip: Invalid value: "${value}": ${message}`,
    )
  }
})

test('warnings for non-canonical IP addresses', () => {
  assert.deepEqual(warningsForIp('ip', '010.0.0.1'), [
    'ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
  ])
  assert.deepEqual(warningsForIp('ip', '::ffff:1.2.3.4'), [
    'ip: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"',
  ])
  assert.deepEqual(warningsForIp('ip', 'FE80::1'), [
    'ip: IPv6 address "FE80::1" should be in RFC 5952 canonical format ("fe80::1")',
  ])
  for (const value of ['10.0.0.1', 'fe80::1', 'x']) assert.deepEqual(warningsForIp('ip', value), [])
})
