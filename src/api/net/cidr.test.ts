import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  addressesOf,
  addressIndex,
  cidrContains,
  cidrContainsCidr,
  cidrOf,
  cidrSize,
  cidrsOverlap,
  firstAddress,
  formatCidr,
  lastAddress,
  nthAddress,
  nthSubnet,
  parseCidr,
  parseInterfaceAddress,
  subnetCount,
  validateCidr,
  validateInterfaceAddress,
  validateCidrForLegacyField,
  warningsForCidr,
  type Cidr,
} from './cidr.ts'
import { formatFieldErrors, type FieldError } from '../field-error.ts'
import { bitsOf, formatIp, parseIp, type Ip } from './ip.ts'

function cidr(text: string): Cidr {
  return parseCidr(text) ?? assert.fail(text)
}

function ip(text: string): Ip {
  return parseIp(text) ?? assert.fail(text)
}

test('CIDRs are parsed and formatted canonically', () => {
  const cases = {
    '10.0.0.0/8': '10.0.0.0/8',
    '10.1.2.3/8': '10.0.0.0/8',
    '1.2.3.4/32': '1.2.3.4/32',
    '255.255.255.255/0': '0.0.0.0/0',
    '2001:DB8::1/64': '2001:db8::/64',
    '::/0': '::/0',
    'fe80::1/128': 'fe80::1/128',
    '::ffff:10.1.2.3/104': '::ffff:10.0.0.0/104',
  }
  for (const [text, printed] of Object.entries(cases)) assert.equal(formatCidr(cidr(text)), printed)
  assert.equal(formatIp(parseInterfaceAddress('10.1.2.3/8')?.ip ?? assert.fail()), '10.1.2.3')
})

test('invalid CIDRs are rejected', () => {
  const refused = `10.0.0.0 10.0.0.0/ /8 10.0.0.0/33 ::/129 10.0.0.0/-1 10.0.0.0/+8 10.0.0.0/08
    10.0.0.0/8/8 10.0.0/8 10.0.0.0/8.0
    10.0.0.0/255.0.0.0 010.0.0.0/8 fe80::%eth0/64 x/8 __proto__`
  for (const text of ['', '10.0.0.0/8\n', ' 10.0.0.0/8', '10.0.0.0/ 8', ...refused.split(/\s+/)]) {
    assert.equal(parseCidr(text), undefined, text)
  }
  for (const text of [`10.0.0.0/${'0'.repeat(1_000_000)}`, '/'.repeat(1_000_000)]) {
    assert.equal(parseCidr(text), undefined)
  }
  for (const length of [-1, 33, 1.5, Number.NaN]) assert.equal(cidrOf(ip('10.0.0.0'), length), undefined)
})

test('first, last and number of addresses of a CIDR', () => {
  const range = cidr('10.0.0.0/30')
  assert.equal(cidrSize(range), 4n)
  assert.equal(formatIp(firstAddress(range)), '10.0.0.0')
  assert.equal(formatIp(lastAddress(range)), '10.0.0.3')
  assert.deepEqual([...addressesOf(range)].map(formatIp), ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3'])
  assert.deepEqual([...addressesOf(cidr('255.255.255.255/32'))].map(formatIp), ['255.255.255.255'])
  assert.deepEqual(nthAddress(range, 3), ip('10.0.0.3'))
  for (const index of [-1, 4, 2n ** 200n]) assert.equal(nthAddress(range, index), undefined)
  assert.equal(addressIndex(range, ip('10.0.0.2')), 2n)
  assert.equal(addressIndex(range, ip('10.0.0.4')), undefined)
  assert.equal(cidrSize(cidr('::/0')), 2n ** 128n)
  assert.equal(formatIp(lastAddress(cidr('::/0'))), 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff')
  const [first, second] = addressesOf(cidr('::/0'))
  assert.deepEqual([first, second], [ip('::'), ip('::1')])
})

test('a CIDR is split into subnets', () => {
  const range = cidr('10.244.0.0/16')
  assert.equal(subnetCount(range, 24), 256n)
  assert.equal(formatCidr(nthSubnet(range, 24, 0) ?? assert.fail()), '10.244.0.0/24')
  assert.equal(formatCidr(nthSubnet(range, 24, 255n) ?? assert.fail()), '10.244.255.0/24')
  assert.deepEqual(nthSubnet(range, 16, 0), range)
  for (const [length, index] of [
    [24, 256],
    [24, -1],
    [15, 0],
    [33, 0],
  ] as const) {
    assert.equal(nthSubnet(range, length, index), undefined)
  }
  assert.equal(subnetCount(range, 15), 0n)
  assert.equal(subnetCount(cidr('::/0'), 128), 2n ** 128n)
})

test('a CIDR contains addresses and CIDRs of its family', () => {
  assert.equal(cidrContains(cidr('10.0.0.0/8'), ip('10.255.255.255')), true)
  assert.equal(cidrContains(cidr('10.0.0.0/8'), ip('11.0.0.0')), false)
  assert.equal(cidrContains(cidr('0.0.0.0/0'), ip('::1')), false)
  assert.equal(cidrContains(cidr('::/0'), ip('1.2.3.4')), false)
  const overlap = (a: string, b: string): boolean => cidrsOverlap(cidr(a), cidr(b))
  assert.equal(overlap('10.0.0.0/8', '10.1.0.0/16'), true)
  assert.equal(overlap('10.1.0.0/16', '10.0.0.0/8'), true)
  assert.equal(overlap('10.0.0.0/9', '10.128.0.0/9'), false)
  assert.equal(overlap('0.0.0.0/0', '::/0'), false)
  assert.equal(cidrContainsCidr(cidr('10.1.0.0/16'), cidr('10.0.0.0/8')), false)
})

/** A CIDR, an address in it, and a smaller CIDR that contains the address. */
const ranges = fc
  .tuple(
    fc.constantFrom('10.0.0.0/8', '10.1.2.0/24', '::/0', 'fd00::/8', '0.0.0.0/0'),
    fc.nat(128),
    fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }),
  )
  .map(([text, longer, offset]) => {
    const outer = cidr(text)
    const address = { family: outer.family, value: outer.first + (offset % cidrSize(outer)) }
    const prefixLength = Math.min(bitsOf(outer.family), outer.prefixLength + longer)
    return { outer, inner: cidrOf(address, prefixLength) ?? assert.fail(), address }
  })

test('a CIDR contains exactly the addresses from first to last', () => {
  fc.assert(
    fc.property(ranges, ({ outer, inner, address }) => {
      assert.deepEqual(parseCidr(formatCidr(inner)), inner)
      assert.equal(cidrContains(inner, address) && cidrContains(outer, address), true)
      assert.equal(cidrContainsCidr(outer, inner) && cidrsOverlap(inner, outer), true)
      assert.deepEqual(nthAddress(inner, addressIndex(inner, address) ?? -1n), address)
      for (const outside of [inner.first - 1n, inner.first + cidrSize(inner)]) {
        assert.equal(cidrContains(inner, { family: inner.family, value: outside }), false)
      }
    }),
  )
})

function check(errors: readonly FieldError[], expected: string): void {
  assert.equal(errors.length === 0 ? '' : formatFieldErrors(errors), expected)
}

test('new fields require canonical CIDRs, legacy fields unambiguous ones', () => {
  check(validateCidr('c', '10.0.0.0/8'), '')
  check(validateCidr('c', 'FD00::/8'), 'c: Invalid value: "FD00::/8": must be in canonical form ("fd00::/8")')
  check(validateCidrForLegacyField('c', 'FD00::/8'), '')
  for (const validate of [validateCidr, validateCidrForLegacyField]) {
    check(
      validate('c', 'x'),
      'c: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    )
    check(
      validate('c', '10.0.0.0/08'),
      'c: Invalid value: "10.0.0.0/08": must not have leading 0s in IP or prefix length',
    )
    check(
      validate('c', '010.0.0.0/8'),
      'c: Invalid value: "010.0.0.0/8": must not have leading 0s in IP or prefix length',
    )
    check(
      validate('c', '::ffff:10.0.0.0/104'),
      'c: Invalid value: "::ffff:10.0.0.0/104": must not have an IPv4-mapped IPv6 address',
    )
    check(
      validate('c', '10.0.0.1/8'),
      'c: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length',
    )
  }
  check(validateCidrForLegacyField('c', '10.0.0.1/8', ['10.0.0.1/8']), '')
  check(validateInterfaceAddress('c', '10.0.0.1/8'), '')
  check(
    validateInterfaceAddress('c', '10.0.0.1'),
    'c: Invalid value: "10.0.0.1": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or ' +
      '2001:db8::1/64)',
  )
  check(
    validateInterfaceAddress('c', '::ffff:10.0.0.1/104'),
    'c: Invalid value: "::ffff:10.0.0.1/104": must be in canonical form ("10.0.0.1/8")',
  )
  check(
    validateInterfaceAddress('c', '010.0.0.1/8'),
    'c: Invalid value: "010.0.0.1/8": must be in canonical form ("10.0.0.1/8")',
  )
})

test('warnings for non-canonical CIDRs', () => {
  const check = (value: string, ...expected: readonly string[]): void => {
    assert.deepEqual(warningsForCidr('c', value), expected)
  }
  check('10.0.0.0/8')
  check('x')
  check(
    '10.0.0.1/8',
    'c: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
  )
  check('010.0.0.0/8', 'c: non-standard CIDR value "010.0.0.0/8" is invalid: use "10.0.0.0/8"')
  check(
    '::ffff:10.0.0.0/104',
    'c: non-standard CIDR value "::ffff:10.0.0.0/104" is invalid: use "10.0.0.0/8"',
  )
  check('FD00::/8', 'c: IPv6 CIDR value "FD00::/8" should be in RFC 5952 canonical format ("fd00::/8")')
})
