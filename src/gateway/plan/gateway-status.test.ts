import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { Secret } from '#/api/generated/core/v1.ts'
import { planGateways } from '../plan-gateways.ts'
import {
  conditionText,
  gateway,
  gatewayLines,
  httpRoute,
  metadataOf,
  referenceGrant,
  worldOf,
  type WorldOptions,
} from '../test-gateways.ts'
import { testKeyPair } from '../test-key-pair.ts'

const keyPair = await testKeyPair(['www.a.com', '*.b.com'])

function tlsSecret({ cert, key }: typeof keyPair = keyPair): Secret {
  const encode = (text: string): string => Buffer.from(text).toString('base64')
  return {
    metadata: metadataOf('secret'),
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': encode(cert), 'tls.key': encode(key) },
  }
}

const otherKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  format: 'pem',
  type: 'pkcs8',
})

const secrets: Readonly<Record<string, Secret>> = {
  'default/good': tlsSecret(),
  'other/good': tlsSecret(),
  'granted/good': tlsSecret(),
  'default/malformed': tlsSecret({ cert: 'hello', key: 'world' }),
  'default/mismatched': tlsSecret({ ...keyPair, key: otherKey }),
  'default/opaque': { ...tlsSecret(), type: 'Opaque' },
}

function check(listeners: readonly string[], expected: readonly string[], options: WorldOptions = {}): void {
  const plan = planGateways(
    worldOf({
      gateways: [gateway('gw', listeners)],
      secret: key => secrets[key],
      referenceGrants: [referenceGrant('granted: Gateway default -> Secret good')],
      ...options,
    }),
  )
  assert.deepEqual(gatewayLines(plan), expected)
}

const waiting = 'Programmed=False:AddressNotAssigned'
const served = 'Accepted Programmed ResolvedRefs'
const refused = 'Programmed=False:Invalid'

test('listeners have the kinds and conditions of the specification', () => {
  check(
    ['a HTTP:80', 'b HTTP:81 b.com'],
    [`gw: Accepted ${waiting}`, ` a: [HG] 0 ${served}`, ` b: [HG] 0 ${served}`],
  )
  check(
    ['a HTTP:80', 'b TCP:81'],
    [
      `gw: Accepted:ListenersNotValid ${waiting}`,
      ` a: [HG] 0 ${served}`,
      ` b: [] 0 Accepted=False:UnsupportedProtocol ${refused} ResolvedRefs`,
    ],
  )
  check(
    ['b TCP:81'],
    [
      `gw: Accepted=False:ListenersNotValid ${refused}`,
      ` b: [] 0 Accepted=False:UnsupportedProtocol ${refused} ResolvedRefs`,
    ],
  )
  check(
    ['a HTTP:80 kinds=Other'],
    [`gw: Accepted ${waiting}`, ' a: [] 0 Accepted Programmed ResolvedRefs=False:InvalidRouteKinds'],
  )
  check(
    ['a HTTP:80 kinds=HTTPRoute,Other'],
    [`gw: Accepted ${waiting}`, ' a: [H] 0 Accepted Programmed ResolvedRefs=False:InvalidRouteKinds'],
  )
})

test('no conflicting listener is preferred', () => {
  const conflicted = (reason: string): string => {
    return `Accepted=False:${reason} ${refused} ResolvedRefs Conflicted:${reason}`
  }
  check(
    ['a HTTP:80', 'b HTTPS:80 cert=good', 'c HTTP:81'],
    [
      `gw: Accepted:ListenersNotValid ${waiting}`,
      ` a: [HG] 0 ${conflicted('ProtocolConflict')}`,
      ` b: [HG] 0 ${conflicted('ProtocolConflict')}`,
      ` c: [HG] 0 ${served}`,
    ],
  )
  check(
    ['a HTTP:80 a.com', 'b HTTP:80 a.com'],
    [
      `gw: Accepted=False:ListenersNotValid ${refused}`,
      ` a: [HG] 0 ${conflicted('HostnameConflict')}`,
      ` b: [HG] 0 ${conflicted('HostnameConflict')}`,
    ],
  )
})

test('a listener without a usable certificate is not served, and counts its routes', () => {
  const cases: readonly (readonly [cert: string, reason: string | undefined])[] = [
    ['good', undefined],
    ['granted.good', undefined],
    ['other.good', 'RefNotPermitted'],
    ['none', 'InvalidCertificateRef'],
    ['malformed', 'InvalidCertificateRef'],
    ['mismatched', 'InvalidCertificateRef'],
    ['opaque', 'InvalidCertificateRef'],
  ]
  for (const [cert, reason] of cases) {
    const status = reason === undefined ? served : `Accepted ${refused} ResolvedRefs=False:${reason}`
    check([`a HTTPS:443 cert=${cert}`], [`gw: Accepted ${waiting}`, ` a: [HG] 1 ${status}`], {
      httpRoutes: [httpRoute('r', ['/'])],
    })
  }
  check(
    ['a HTTPS:443 cert=good,none'],
    [`gw: Accepted ${waiting}`, ' a: [HG] 0 Accepted Programmed ResolvedRefs=False:InvalidCertificateRef'],
  )
})

test('only Secrets that may be used are looked up', () => {
  const { references } = planGateways(
    worldOf({
      gateways: [gateway('gw', ['a HTTPS:443 cert=good,other.good,granted.good'])],
      referenceGrants: [referenceGrant('granted: Gateway default -> Secret')],
    }),
  )
  assert.deepEqual([...references.secrets], ['default/good', 'granted/good'])
})

test('certificates are selected by the hostname of the listener and the names of the certificate', () => {
  const cases: readonly (readonly [listeners: readonly string[], expected: readonly string[]])[] = [
    [['a HTTPS:443 cert=good'], ['www.a.com *.b.com', '']],
    [['a HTTPS:443 x.com cert=good'], ['x.com']],
    [['a HTTPS:443 *.com cert=good'], ['*.com www.a.com *.b.com']],
    [
      ['a HTTPS:443 *.com cert=good', 'b HTTPS:443 www.a.com cert=good'],
      ['*.com *.b.com', 'www.a.com'],
    ],
    [['a HTTPS:443 cert=good,granted.good'], ['www.a.com *.b.com', '']],
    [['a HTTPS:443 cert=none'], []],
  ]
  for (const [listeners, expected] of cases) {
    const { configuration } = planGateways(
      worldOf({
        gateways: [gateway('gw', listeners)],
        secret: key => secrets[key],
        referenceGrants: [referenceGrant('granted: Gateway default -> Secret')],
      }),
    )
    assert.deepEqual(
      configuration.listeners[0]?.certificates.map(({ hostnames }) => hostnames.join(' ')),
      expected,
      listeners.join(),
    )
    assert.equal(configuration.listeners[0]?.protocol, 'tls')
  }
})

test('a listener that must validate client certificates is not accepted', () => {
  const reference = { group: '', kind: 'ConfigMap', name: 'ca' }
  const tls = { validation: { caCertificateRefs: [reference] } }
  const listeners = ['a HTTPS:443 cert=good', 'b HTTPS:444 cert=good', 'c HTTP:80']
  const isAccepted = (frontend: object): string => {
    const gateways = [gateway('gw', listeners, { tls: { frontend: frontend as { default: object } } })]
    const plan = planGateways(worldOf({ gateways, secret: key => secrets[key] }))
    const texts = plan.gateways[0]?.status.listeners.map(({ conditions: [accepted] }) => {
      return accepted && conditionText(accepted)
    })
    return texts?.join(' ') ?? ''
  }
  const no = 'Accepted=False:UnsupportedValue'
  assert.equal(isAccepted({ default: tls }), `${no} ${no} Accepted`)
  assert.equal(isAccepted({ default: {}, perPort: [{ port: 444, tls }] }), `Accepted ${no} Accepted`)
  assert.equal(isAccepted({ default: tls, perPort: [{ port: 444, tls: {} }] }), `${no} Accepted Accepted`)
})

test('addresses are those of the Service, and a requested one must be assigned', () => {
  type Spec = Parameters<typeof gateway>[2]
  const address = (value?: string, type = 'IPAddress') => ({ type, ...(value !== undefined && { value }) })
  const cases: readonly (readonly [spec: Spec, ip: string, expected: string])[] = [
    [{}, '', `Accepted ${waiting} []`],
    [{}, '203.0.113.1', 'Accepted Programmed [203.0.113.1]'],
    [{ addresses: [address()] }, '203.0.113.1', 'Accepted Programmed [203.0.113.1]'],
    [{ addresses: [address('203.0.113.1')] }, '203.0.113.1', 'Accepted Programmed [203.0.113.1]'],
    [{ addresses: [address('203.0.113.9')] }, '', 'Accepted Programmed=False:AddressNotUsable []'],
    [{ addresses: [address('203.0.113.9')] }, '203.0.113.1', 'Accepted Programmed=False:AddressNotUsable []'],
    [
      { addresses: [address('203.0.113.1'), address('203.0.113.2')] },
      '203.0.113.1',
      'Accepted Programmed=False:AddressNotUsable [203.0.113.1]',
    ],
    [
      { addresses: [address('a.com', 'Hostname')] },
      '203.0.113.1',
      `Accepted=False:UnsupportedAddress ${refused} []`,
    ],
    [
      { infrastructure: { parametersRef: { group: '', kind: 'ConfigMap', name: 'x' } } },
      '203.0.113.1',
      `Accepted=False:InvalidParameters ${refused} []`,
    ],
  ]
  for (const [spec, ip, expected] of cases) {
    const gateways = [gateway('gw', ['a HTTP:80'], spec)]
    const [first] = planGateways(worldOf({ gateways })).services
    const service = first && {
      ...first.service,
      status: { loadBalancer: { ingress: ip === '' ? [] : [{ ip }] } },
    }
    const plan = planGateways(worldOf({ gateways, services: service ? [[service]] : [] }))
    const status = plan.gateways[0]?.status
    const addresses = status?.addresses.map(({ value }) => value).join(' ')
    assert.equal(`${status?.conditions.map(conditionText).join(' ')} [${addresses}]`, expected)
  }
})
