import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceSlice } from '#/api/generated/resource/v1.ts'
import { nodeOf, stored } from '../../test-cluster.ts'
import { candidatesOf, gatherPools, isUsableOn } from './pools.ts'

const node = stored(nodeOf('n1', { labels: { zone: 'a' } }))

/**
 * `pool generation/count place: devices`; the place is a node, `*`, `zone=a`, or `each` for per-device
 * selection with `device@node`.
 */
function parseSlice(text: string): ResourceSlice {
  const [head = '', list = ''] = text.split(':')
  const [pool = '', version = '', place = ''] = head.split(' ')
  const [generation, resourceSliceCount] = version.split('/').map(Number)
  const [key = '', value = ''] = place.split('=')
  const requirement = { key, operator: 'In', values: [value] }
  const devices = list
    .trim()
    .split(' ')
    .filter(each => each !== '')
    .map(each => {
      const [name = '', nodeName] = each.split('@')
      const isSlow = name.endsWith('~')
      return {
        name: name.replace('~', ''),
        ...(nodeName && { nodeName }),
        ...(isSlow && { bindingConditions: ['c'], bindingFailureConditions: ['f'] }),
      }
    })
  return {
    metadata: { name: text },
    spec: {
      driver: 'd',
      pool: { name: pool, generation: generation!, resourceSliceCount: resourceSliceCount! },
      ...(place === '*' && { allNodes: true }),
      ...(place === 'each' && { perDeviceNodeSelection: true }),
      ...(value && { nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [requirement] }] } }),
      ...(!value && place !== '*' && place !== 'each' && { nodeName: place }),
      devices,
    },
  }
}

function check(slices: readonly string[], expected: string): void {
  const parsed = slices.map(slice => stored(parseSlice(slice)))
  const pools = gatherPools(node, {
    ofNode: name => parsed.filter(({ spec }) => spec.nodeName === name),
    shared: () => parsed.filter(({ spec }) => spec.nodeName === undefined),
    ofPool: (_driver, name) => parsed.filter(({ spec }) => spec.pool.name === name),
  })
  const shown = pools.map(pool => {
    const usable = candidatesOf(pool).filter(candidate => isUsableOn(candidate, node))
    const devices = usable.map(({ device }) => device.name)
    return `${pool.name}:${pool.state === 'usable' ? devices.join('+') : pool.state}`
  })
  assert.equal(shown.join(' '), expected, slices.join(' | '))
}

test('resource pools usable by a node', () => {
  check(['p 1/1 n1: a b'], 'p:a+b')
  check(['p 1/1 n2: a'], '')
  check(['p 1/1 *: a'], 'p:a')
  check(['p 1/1 zone=a: a', 'q 1/1 zone=b: b'], 'p:a')
  check(['q 1/1 n1: a', 'p 1/1 n1: b'], 'p:b q:a')
  check(['p 1/1 each: a@n1 b@n2 c@n1'], 'p:a+c')
  check(['p 1/1 each: a@n2'], '')
  check(['p 1/1 n1: a~', 'q 1/1 n1: b'], 'q:b p:a')
})

test('only the newest complete generation of a pool is used', () => {
  check(['p 1/1 n1: a', 'p 2/1 n1: b'], 'p:b')
  check(['p 2/1 n1: b', 'p 1/1 n1: a'], 'p:b')
  check(['p 1/2 n1: a'], 'p:incomplete')
  check(['p 1/2 n1: a', 'p 1/2 n2: b'], 'p:a')
  check(['p 1/1 n1: a', 'p 2/1 n2: b'], 'p:a')
  check(['p 1/2 n1: a', 'p 2/1 n2: b'], '')
  check(['p 1/2 n1: b', 'p 1/2 n1: a'], 'p:a+b')
  check(['p 1/2 n1: a', 'p 1/2 n1: a c'], 'p:invalid')
})
