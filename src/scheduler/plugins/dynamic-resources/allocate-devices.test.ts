import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { formatQuantity } from '#/api/text/quantity.ts'
import { AllocatedDevices } from './allocated-devices.ts'
import { allocationOf } from './allocation.ts'
import { AllocationTimeout, type Solution } from './allocate-devices.ts'
import { find, parseClaim, sliceOf } from './test-devices.ts'

interface Setting {
  readonly counters?: Readonly<Record<string, string>>
  /** Devices in use; `a=memory:1Gi` for consumed capacity. */
  readonly taken?: readonly string[]
}

function inUseOf(taken: readonly string[]): AllocatedDevices {
  const inUse = new AllocatedDevices()
  taken.forEach((text, index) => {
    const [device = '', part] = text.split('=')
    const [name = '', amount = ''] = part?.split(':') ?? []
    const share = part === undefined ? {} : { shareID: 's', consumedCapacity: { [name]: amount } }
    inUse.set(`other-${index}`, {
      devices: { results: [{ request: 'r', driver: 'd', pool: 'p', device, ...share }] },
    })
  })
  return inUse
}

/** `request:device` of each claim, with consumed capacity in brackets. */
function show(solution: Solution | undefined): string {
  if (solution === undefined) return 'none'
  return solution.allocations
    .map(allocations =>
      allocations
        .map(({ alternative, candidate, consumed }) => {
          const parts = [...(consumed ?? [])].map(([name, amount]) => `${name}:${formatQuantity(amount)}`)
          return `${alternative.name}:${candidate.device.name}${consumed ? `(${parts.join()})` : ''}`
        })
        .join(' '),
    )
    .join(' / ')
}

function check(claims: string, devices: readonly string[], expected: string, setting: Setting = {}): void {
  const parsed = claims.split(' / ').map((text, index) => parseClaim(`c${index}`, text))
  const slices = sliceOf(devices, setting.counters)
  const attempt = (): string => show(find(parsed, slices, inUseOf(setting.taken ?? [])))
  if (expected.startsWith('error: ')) assert.throws(attempt, { message: expected.slice('error: '.length) })
  else assert.equal(attempt(), expected, `${claims} of ${devices.join(', ')}`)
}

test('a request gets its number of free devices', () => {
  check('1', ['a', 'b'], 'r0:a')
  check('2', ['a', 'b'], 'r0:a r0:b')
  check('3', ['a', 'b'], 'none')
  check('1', ['a', 'b'], 'r0:b', { taken: ['a'] })
  check('1, 1', ['a', 'b'], 'r0:a r1:b')
  check('1 / 1', ['a', 'b'], 'r0:a / r0:b')
  check('1 / 1 / 1', ['a', 'b'], 'none')
  check('1', [], 'none')
})

test('only matching devices are allocated, by backtracking if necessary', () => {
  const devices = ['a kind=x', 'b kind=y', 'c kind=x']
  check('1 kind=y', devices, 'r0:b')
  check('2 kind=y', devices, 'none')
  check('1, 1 kind=x, 1 kind=x', devices, 'r0:b r1:a r2:c')
  check('1 kind=x', ['a'], 'error: claim default/c0: selector #0: CEL runtime error: no such key: kind')
})

test('allocation mode All gets all matching devices or fails', () => {
  check('all', ['a', 'b'], 'r0:a r0:b')
  check('all kind=x', ['a kind=x', 'b kind=y'], 'r0:a')
  check('all', ['a', 'b'], 'none', { taken: ['a'] })
  check('all', [], 'none')
  check('all, 1', ['a', 'b'], 'none')
})

test('firstAvailable: the first possible alternative is used', () => {
  const devices = ['a kind=x', 'b kind=y']
  check('1 kind=x | 1 kind=y', devices, 'r0/s0:a')
  check('1 kind=x | 1 kind=y', devices, 'r0/s1:b', { taken: ['a'] })
  check('2 kind=x | 1 kind=y', devices, 'r0/s1:b')
  check('2 kind=x | 2 kind=y', devices, 'none')
  check('1 kind=x | 1 kind=y, 1 kind=x', devices, 'r0/s1:b r1:a')
})

test('admin access allocates devices in use', () => {
  check('1 admin', ['a'], 'r0:a', { taken: ['a'] })
  check('2 admin', ['a', 'b'], 'r0:a r0:b', { taken: ['a'] })
  check('2 admin', ['a'], 'none')
  check('all admin', ['a', 'b'], 'r0:a r0:b', { taken: ['a', 'b'] })
})

test('matchAttribute and distinctAttribute constraints', () => {
  const devices = ['a numa=0', 'b numa=1', 'c numa=1', 'd']
  check('2; same=numa', devices, 'r0:b r0:c')
  check('2; different=numa', devices, 'r0:a r0:b')
  check('3; different=numa', devices, 'none')
  check('1, 1; same=numa', devices, 'r0:b r1:c')
  check('1 numa=0, 1; same=numa', ['a numa=0', 'b numa=1'], 'none')
  check(
    'all; same=numa',
    ['a numa=0', 'b numa=1'],
    'error: claim default/c0, request r0: cannot add device d/p/b because a claim constraint would not be satisfied',
  )
})

test('devices with untolerated taints are not allocated', () => {
  check('1', ['a !broken', 'b'], 'r0:b')
  check('1 ~broken', ['a !broken', 'b'], 'r0:a')
  check('1 ~other', ['a !broken'], 'none')
  check('1', ['a ?broken'], 'r0:a')
})

test('shared counters of devices are not exceeded', () => {
  const devices = ['whole -slots:4', 'half -slots:2', 'other -slots:2', 'free']
  const counters = { slots: '4' }
  check('1, 1', devices, 'r0:whole r1:free', { counters })
  check('3', devices, 'r0:half r0:other r0:free', { counters })
  check('1', devices, 'r0:half', { counters, taken: ['other'] })
  check('1', devices, 'r0:free', { counters, taken: ['whole'] })
  check('1', ['a -gone:1'], 'none', { counters })
})

test('devices with multiple allocations share their capacity', () => {
  const devices = ['a memory:8Gi shared', 'b memory:8Gi']
  check('1 memory:2Gi', devices, 'r0:a(memory:2Gi)')
  check('1 memory:2Gi, 1 memory:6Gi', devices, 'r0:a(memory:2Gi) r1:a(memory:6Gi)')
  check('1 memory:2Gi, 1 memory:7Gi', devices, 'r0:a(memory:2Gi) r1:b')
  check('1 memory:2Gi', devices, 'r0:b', { taken: ['a=memory:7Gi'] })
  check('1 memory:9Gi', devices, 'none')
  check('1 other:1', devices, 'none')
  check('1', devices, 'r0:a(memory:8Gi)')
  const counted = { counters: { slots: '1' } }
  check('1 m:1, 1 m:1', ['a m:4 shared -slots:1'], 'r0:a(m:1) r1:a(m:1)', counted)
  check('1 m:1, 1', ['a m:4 shared -slots:1', 'b -slots:1'], 'none', counted)
})

test('too many devices are rejected, and a search beyond the limit is aborted', () => {
  const many = Array.from({ length: 40 }, (_, index) => `d${index}`)
  check('33', many, 'error: claim default/c0: number of requested devices 33 exceeds the claim limit of 32')
  check('all', many, 'error: claim default/c0: number of requested devices 40 exceeds the claim limit of 32')
  check('all | 1', many, 'r0/s1:d0')
  check(
    '32',
    many,
    many
      .slice(0, 32)
      .map(device => `r0:${device}`)
      .join(' '),
  )
  const endless = parseClaim('c', '20, 1 kind=y')
  const slices = sliceOf(many.map(each => `${each} kind=x`))
  assert.throws(() => find([endless], slices), AllocationTimeout)
})

test('the allocation result of a claim', () => {
  const claim = parseClaim('c', '1 ~broken memory:1Gi')
  const withConfig = {
    ...claim,
    spec: {
      devices: {
        ...claim.spec.devices,
        config: [{ requests: ['r0'], opaque: { driver: 'd', parameters: {} } }, { requests: ['r9'] }],
      },
    },
  }
  const { allocations, chosen } = find([withConfig], sliceOf(['a memory:8Gi shared !broken']))!
  const found = { allocations: allocations[0]!, chosen: chosen[0]! }
  assert.deepEqual(allocationOf(withConfig, found, { node: 'n1', shareId: () => 'id' }), {
    devices: {
      results: [
        {
          request: 'r0',
          driver: 'd',
          pool: 'p',
          device: 'a',
          tolerations: [{ key: 'broken', operator: 'Exists' }],
          shareID: 'id',
          consumedCapacity: { memory: '1Gi' },
        },
      ],
      config: [{ source: 'FromClaim', requests: ['r0'], opaque: { driver: 'd', parameters: {} } }],
    },
    nodeSelector: {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
    },
  })
})

const attribute = fc.constantFrom('x', 'y')
const device = fc.record({ kind: attribute, slots: fc.integer({ min: 0, max: 2 }) })
const request = fc.record({ count: fc.integer({ min: 1, max: 3 }), kind: fc.option(attribute) })

test('property: no device twice, all requests satisfied, no counter exceeded', () => {
  fc.assert(
    fc.property(
      fc.array(device, { maxLength: 6 }),
      fc.array(fc.array(request, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
      fc.integer({ min: 0, max: 5 }),
      (devices, claims, slots) => {
        const texts = devices.map((each, index) => {
          return `d${index} kind=${each.kind}${each.slots > 0 ? ` -slots:${each.slots}` : ''}`
        })
        const parsed = claims.map((requests, index) => {
          const words = requests.map(({ count, kind }) => `${count}${kind ? ` kind=${kind}` : ''}`)
          return parseClaim(`c${index}`, words.join(', '))
        })
        const solution = find(parsed, sliceOf(texts, { slots: String(slots) }))
        const wanted = claims.flat()
        if (solution === undefined) return
        const all = solution.allocations.flat()
        const used = all.map(({ candidate }) => Number(candidate.device.name.slice(1)))
        assert.equal(new Set(used).size, used.length)
        assert.equal(
          used.length,
          wanted.reduce((sum, { count }) => sum + count, 0),
        )
        assert.ok(used.reduce((sum, index) => sum + devices[index]!.slots, 0) <= slots)
        for (const { alternative, candidate } of all) {
          const [selector] = alternative.selectors
          if (selector)
            assert.ok(selector.expression.endsWith(`"${candidate.device.attributes?.['kind']?.string}"`))
        }
      },
    ),
    { numRuns: 200 },
  )
})

test('property: a solution is found if one exists', () => {
  fc.assert(
    fc.property(
      fc.array(attribute, { maxLength: 5 }),
      fc.array(request, { minLength: 1, maxLength: 3 }),
      (kinds, requests) => {
        const claim = parseClaim(
          'c',
          requests.map(({ count, kind }) => `${count}${kind ? ` kind=${kind}` : ''}`).join(', '),
        )
        const found = find([claim], sliceOf(kinds.map((kind, index) => `d${index} kind=${kind}`)))
        const need = (kind: string): number =>
          requests.filter(each => each.kind === kind).reduce((sum, { count }) => sum + count, 0)
        const has = (kind: string): number => kinds.filter(each => each === kind).length
        const total = requests.reduce((sum, { count }) => sum + count, 0)
        const isPossible = need('x') <= has('x') && need('y') <= has('y') && total <= kinds.length
        assert.equal(found !== undefined, isPossible)
      },
    ),
    { numRuns: 200 },
  )
})
