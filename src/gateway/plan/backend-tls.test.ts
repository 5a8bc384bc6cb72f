import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Backend } from '#/http-proxy/proxy-configuration.ts'
import { backendTlsPolicies, type BackendTLSPolicy } from '../gateway-api/backend-tls-policy.ts'
import { planGateways, type GatewayPlan } from '../plan-gateways.ts'
import {
  backendRef,
  conditionText,
  gateway,
  grpcRoute,
  httpRoute,
  metadataOf,
  routeLines,
  service,
  worldOf,
} from '../test-gateways.ts'
import { testKeyPair } from '../test-key-pair.ts'

const { cert } = await testKeyPair(['web.internal'])

const configMaps: Readonly<Record<string, ConfigMap>> = {
  'default/good': { metadata: metadataOf('good'), data: { 'ca.crt': cert } },
  'default/bad': { metadata: metadataOf('bad'), data: { 'ca.crt': 'hello' } },
  'default/empty': { metadata: metadataOf('empty') },
}

type Validation = Partial<BackendTLSPolicy['spec']['validation']>

interface PolicyOptions {
  readonly age?: number
  readonly port?: string
  readonly validation?: Validation
}

function authority(name: string, kind = 'ConfigMap'): Validation {
  return { caCertificateRefs: [{ group: '', kind, name }] }
}

/** Of the Service `web`. */
function policy(name: string, { age = 1, port, validation }: PolicyOptions = {}): Stored<BackendTLSPolicy> {
  const target = { group: '', kind: 'Service', name: 'web', ...(port !== undefined && { sectionName: port }) }
  return backendTlsPolicies.withDefaults({
    metadata: metadataOf(name, age),
    spec: {
      targetRefs: [target],
      validation: { hostname: 'web.internal', ...(validation ?? authority('good')) },
    },
  })
}

function planOf(
  policies: readonly Stored<BackendTLSPolicy>[],
  of: ReturnType<typeof service> = service('web'),
): GatewayPlan {
  return planGateways(
    worldOf({
      gateways: [gateway('gw', ['a HTTP:80'])],
      httpRoutes: [httpRoute('r', ['/ -> web:80'])],
      services: [of],
      backendTlsPolicies: policies,
      configMap: key => configMaps[key],
    }),
  )
}

function backendOf({ configuration }: GatewayPlan): Backend | undefined {
  return [...configuration.backends.values()][0]
}

test('backends of a Service with a policy have TLS, with HTTP/2 where it is needed', () => {
  const made = backendOf(planOf([policy('p')]))
  assert.deepEqual([made?.id, made?.protocol], ['gateway/default/web:80/https1', 'https1'])
  assert.deepEqual(made?.tls, { serverName: 'web.internal', ca: cert })
  const protocols = ['HTTPS', 'kubernetes.io/h2c', 'http'].map(appProtocol => {
    return backendOf(planOf([policy('p')], service('web', { appProtocol })))?.protocol
  })
  assert.deepEqual(protocols, ['https1', 'https2', 'https1'])
  const grpc = planGateways(
    worldOf({
      gateways: [gateway('gw', ['a HTTP:80'])],
      grpcRoutes: [grpcRoute('r', [{ backendRefs: [backendRef('web:80')] }])],
      services: [service('web')],
      backendTlsPolicies: [policy('p', { validation: { wellKnownCACertificates: 'System' } })],
    }),
  )
  assert.deepEqual(backendOf(grpc)?.protocol, 'https2')
  assert.deepEqual(backendOf(grpc)?.tls, { serverName: 'web.internal', ca: undefined })
})

test('a policy that cannot be followed makes requests fail, and the reason is in its status', () => {
  const cases: readonly (readonly [validation: Validation, expected: string])[] = [
    [authority('good'), 'Accepted ResolvedRefs'],
    [{ wellKnownCACertificates: 'System' }, 'Accepted ResolvedRefs'],
    [authority('none'), 'Accepted=False:NoValidCACertificate ResolvedRefs=False:InvalidCACertificateRef'],
    [authority('bad'), 'Accepted=False:NoValidCACertificate ResolvedRefs=False:InvalidCACertificateRef'],
    [authority('empty'), 'Accepted=False:NoValidCACertificate ResolvedRefs=False:InvalidCACertificateRef'],
    [authority('good', 'Bundle'), 'Accepted=False:NoValidCACertificate ResolvedRefs=False:InvalidKind'],
    [{ wellKnownCACertificates: 'a.com/b' }, 'Accepted=False:Invalid ResolvedRefs'],
    [
      { ...authority('good'), subjectAltNames: [{ type: 'Hostname', hostname: 'a.com' }] },
      'Accepted=False:Invalid ResolvedRefs',
    ],
  ]
  for (const [validation, expected] of cases) {
    const plan = planOf([policy('p', { validation })])
    const [ancestor] = plan.policies[0]?.status ?? []
    assert.equal(ancestor?.conditions.map(conditionText).join(' '), expected)
    assert.deepEqual(ancestor?.ancestorRef.name, 'gw')
    const isAccepted = expected.startsWith('Accepted ')
    const [used] = plan.configuration.listeners[0]?.virtualHosts[0]?.routes[0]?.backends ?? []
    assert.equal(used?.backend, isAccepted ? 'gateway/default/web:80/https1' : undefined, expected)
    assert.deepEqual(routeLines(plan), ['r: gw Accepted ResolvedRefs'])
  }
})

test('the oldest policy of a target is used, and one for the port before one for the Service', () => {
  const statuses = ({ policies }: GatewayPlan): readonly string[] => {
    return policies.map(({ object, status }) => {
      const [accepted] = status[0]?.conditions ?? []
      return `${object.metadata.name} ${accepted && conditionText(accepted)}`
    })
  }
  const invalid = authority('none')
  const conflicting = planOf([policy('young', { validation: invalid }), policy('old', { age: 2 })])
  assert.deepEqual(statuses(conflicting), ['old Accepted', 'young Accepted=False:Conflicted'])
  assert.equal(backendOf(conflicting)?.protocol, 'https1')
  const named = service('web', { spec: { ports: [{ name: 'https', port: 80 }] } })
  const specific = planOf(
    [policy('port', { port: 'https' }), policy('all', { age: 2, validation: invalid })],
    named,
  )
  assert.deepEqual(statuses(specific), ['all Accepted=False:NoValidCACertificate', 'port Accepted'])
  assert.equal(backendOf(specific)?.protocol, 'https1')
})

test('policies of Services that no route uses are not evaluated', () => {
  const plan = planGateways(
    worldOf({
      gateways: [gateway('gw', ['a HTTP:80'])],
      services: [service('web')],
      backendTlsPolicies: [policy('p')],
    }),
  )
  assert.deepEqual(plan.policies[0]?.status, [])
  assert.equal(plan.references.configMaps.size, 0)
})
