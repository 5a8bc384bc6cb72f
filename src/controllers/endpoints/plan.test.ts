import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Endpoints, EndpointSubset, Pod, Service } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { repackSubsets } from '../service-endpoints/subsets.ts'
import { planEndpoints } from './plan.ts'
import { stored } from '../test-stored.ts'

const service: Stored<Service> = stored({
  metadata: { namespace: 'default', name: 'web', uid: 'web-uid', labels: { team: 'a' } },
  spec: {
    clusterIP: '10.96.0.10',
    ipFamilies: ['IPv4'],
    selector: { app: 'web' },
    ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
  },
})

/** `1` is a ready pod, `-1` one that is not ready, `1!` a terminating one. */
function podOf(notation: string): Stored<Pod> {
  const index = Math.abs(Number.parseInt(notation, 10))
  return stored({
    metadata: {
      namespace: 'default',
      name: `p${index}`,
      uid: `uid-${index}`,
      ...(notation.endsWith('!') && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: { nodeName: 'n1', containers: [] },
    status: {
      phase: 'Running',
      podIPs: [{ ip: `10.0.${index >> 8}.${index & 255}` }, { ip: `fd00::${index.toString(16)}` }],
      conditions: [{ type: 'Ready', status: notation.startsWith('-') ? 'False' : 'True' }],
    },
  })
}

function plan(
  pods: readonly string[],
  world: { service?: Stored<Service>; current?: Endpoints; triggerTime?: string } = {},
): Endpoints | undefined {
  return planEndpoints({
    service,
    pods: pods.map(podOf),
    current: undefined,
    triggerTime: undefined,
    ...world,
  })
}

/** `1,2,-3:8080` is a subset in which address 3 is not ready. */
function show(subsets: readonly EndpointSubset[] = []): readonly string[] {
  const last = (ip: string): string => ip.replace(/^.*[.:]/, '')
  return subsets.map(({ addresses = [], notReadyAddresses = [], ports = [] }) => {
    const all = [...addresses.map(({ ip }) => last(ip)), ...notReadyAddresses.map(({ ip }) => `-${last(ip)}`)]
    return `${all.join()}:${ports.map(({ port }) => port).join()}`
  })
}

test('Endpoints list the pods of a service, not ready ones separately', () => {
  const made = plan(['2', '1', '-3', '4!'])
  assert.deepEqual(show(made?.subsets), ['1,2,-3:8080'])
  assert.deepEqual(made?.metadata.labels, {
    'team': 'a',
    'endpoints.kubernetes.io/managed-by': 'endpoint-controller',
  })
  assert.deepEqual(made?.subsets?.[0]?.addresses?.[0], {
    ip: '10.0.0.1',
    nodeName: 'n1',
    targetRef: { kind: 'Pod', namespace: 'default', name: 'p1', uid: 'uid-1' },
  })
  const published = { ...service, spec: { ...service.spec, publishNotReadyAddresses: true } }
  assert.deepEqual(show(plan(['-3', '4!'], { service: published })?.subsets), ['3,4:8080'])
  const sixth = { ...service, spec: { ...service.spec, ipFamilies: ['IPv6', 'IPv4'] } }
  assert.equal(plan(['7'], { service: sixth })?.subsets?.[0]?.addresses?.[0]?.ip, 'fd00::7')
  const headless = { ...service, spec: { ...service.spec, clusterIP: 'None', ports: [] } }
  const shown = plan(['1'], { service: headless })
  assert.deepEqual(show(shown?.subsets), ['1:'])
  assert.equal(shown?.metadata.labels?.['service.kubernetes.io/headless'], '')
})

test('equal Endpoints are not written again, independent of order', () => {
  const current = plan(['1', '2'], { triggerTime: '2026-01-01T00:00:00Z' })!
  assert.equal(plan(['2', '1'], { current }), undefined)
  const [subset] = current.subsets ?? []
  const reversed = { ...current, subsets: [{ ...subset, addresses: subset?.addresses?.toReversed() ?? [] }] }
  assert.equal(plan(['1', '2'], { current: reversed }), undefined)
  assert.notEqual(plan(['1', '-2'], { current }), undefined)
  const changed = plan(['1'], { current })
  assert.deepEqual(changed?.metadata.annotations, {})
})

test('beyond 1000 addresses not ready ones are omitted first, with the over-capacity annotation', () => {
  const numbers = (count: number, sign = ''): readonly string[] => {
    return Array.from({ length: count }, (_, index) => `${sign}${index + 1 + (sign ? 2_000 : 0)}`)
  }
  const annotation = 'endpoints.kubernetes.io/over-capacity'
  const check = (ready: number, notReady: number, expected: readonly [number, number]): void => {
    const pods = [...numbers(ready), ...numbers(notReady, '-')]
    const made = plan(pods)!
    const [subset] = made.subsets ?? []
    assert.deepEqual([subset?.addresses?.length ?? 0, subset?.notReadyAddresses?.length ?? 0], expected)
    assert.equal(made.metadata.annotations?.[annotation], ready + notReady > 1_000 ? 'truncated' : undefined)
    assert.equal(plan(pods, { current: made }), undefined)
  }
  check(600, 400, [600, 400])
  check(600, 401, [600, 400])
  check(1_200, 5, [1_000, 0])
  const truncated = plan(numbers(1_001))!
  assert.equal(plan(numbers(1_000), { current: truncated })?.metadata.annotations?.[annotation], undefined)
})

test('ports with the same addresses share a subset, and not ready takes precedence', () => {
  const subset = (notation: string): EndpointSubset => {
    const [addresses = '', ports = ''] = notation.split(':')
    const ips = addresses.split(',').map(Number)
    const toAddress = (each: number): { ip: string } => ({ ip: `10.0.0.${Math.abs(each)}` })
    return {
      addresses: ips.filter(each => each > 0).map(toAddress),
      notReadyAddresses: ips.filter(each => each < 0).map(toAddress),
      ports: ports
        .split(',')
        .filter(Boolean)
        .map(port => ({ name: `p${port}`, port: Number(port) })),
    }
  }
  const check = (subsets: string, expected: readonly string[]): void => {
    assert.deepEqual(show(repackSubsets(subsets.split(' ').map(subset))), expected, subsets)
  }
  check('1:80 2:80', ['1,2:80'])
  check('1:80 1:81', ['1:80,81'])
  check('1:80,81 2:80', ['1,2:80', '1:81'])
  check('1,2:80 2,1:81', ['1,2:80,81'])
  check('1:80 -1:80', ['-1:80'])
  check('2:80 1: 2:', ['1,2:', '2:80'])
})

test('packing subsets is idempotent and loses nothing', () => {
  const port = fc.record({ name: fc.constantFrom('a', 'b'), port: fc.integer({ min: 1, max: 3 }) })
  const address = fc.record({ ip: fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3') })
  const subset = fc.record({
    addresses: fc.array(address, { maxLength: 3 }),
    notReadyAddresses: fc.array(address, { maxLength: 3 }),
    ports: fc.array(port, { minLength: 1, maxLength: 3 }),
  })
  const offers = (subsets: readonly EndpointSubset[]): readonly string[] => {
    const all = subsets.flatMap(({ addresses = [], notReadyAddresses = [], ports = [] }) => {
      const ips = [...addresses, ...notReadyAddresses].map(({ ip }) => ip)
      const names = ports.map(each => `${each.name}${each.port}`)
      return ips.flatMap(ip => names.map(name => `${ip} ${name}`))
    })
    return [...new Set(all)].sort()
  }
  const property = fc.property(fc.array(subset, { maxLength: 4 }), subsets => {
    const packed = repackSubsets(subsets)
    assert.deepEqual(repackSubsets(packed), packed)
    assert.deepEqual(offers(packed), offers(subsets))
  })
  fc.assert(property, { numRuns: 200 })
})
