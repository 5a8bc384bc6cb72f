import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectedParts, layoutTopology, nodeHeight, nodeWidth } from './layout-topology.ts'
import { nextInDirection, type Direction } from './next-in-direction.ts'
import { packBoxes } from './pack-boxes.ts'
import type { TopologyEdge, TopologyNode } from './plan-topology.ts'

/** `a>b b>c d`: edges and nodes. */
function graph(text: string): { nodes: TopologyNode[]; edges: TopologyEdge[] } {
  const words = text.split(' ').filter(Boolean)
  const ids = new Set(words.flatMap(word => word.split('>')))
  const nodes = [...ids].map(id => ({
    id,
    resource: 'pods',
    kind: 'Pod',
    namespace: '',
    name: id,
    tone: 'good' as const,
    state: '',
  }))
  const edges = words.flatMap(word => {
    const [from = '', to] = word.split('>')
    return to === undefined ? [] : [{ from, to, type: 'owns' as const }]
  })
  return { nodes, edges }
}

test('connectedParts puts parts with edges first', () => {
  const check = (text: string, expected: readonly string[]): void => {
    const parts = connectedParts(graph(text))
    assert.deepEqual(
      parts.map(({ nodes }) => nodes.map(({ id }) => id).join('')),
      expected,
      text,
    )
  }
  check('', [])
  check('x a>b b>c d>e', ['abc', 'de', 'x'])
  check('a>b c>d b>d', ['abcd'])
})

test('layoutTopology places no two elements over each other, and follows edges to the right', () => {
  const topology = graph('a>b a>c b>d c>d e>f g h i j k l')
  const { positions, width, height } = layoutTopology(topology, 900)
  const all = [...positions.values()]
  assert.equal(all.length, topology.nodes.length)
  for (const [index, at] of all.entries()) {
    assert.ok(
      at.x >= -0.5 && at.y >= -0.5 && at.x + nodeWidth <= width + 0.5 && at.y + nodeHeight <= height + 0.5,
    )
    for (const other of all.slice(index + 1)) {
      const isApart = Math.abs(at.x - other.x) >= nodeWidth || Math.abs(at.y - other.y) >= nodeHeight
      assert.ok(isApart, JSON.stringify([at, other]))
    }
  }
  for (const { from, to } of topology.edges) {
    assert.ok((positions.get(from)?.x ?? 0) < (positions.get(to)?.x ?? 0), `${from} ${to}`)
  }
})

test('packBoxes begins a new row at the right edge', () => {
  const box = { width: 40, height: 10 }
  const { places, width, height } = packBoxes([box, box, { width: 500, height: 20 }, box], {
    widthMax: 100,
    gap: 5,
  })
  assert.deepEqual(
    places.map(({ x, y }) => `${x},${y}`),
    ['0,0', '45,0', '0,15', '0,40'],
  )
  assert.deepEqual([width, height], [500, 50])
})

test('nextInDirection goes along rows and columns', () => {
  const elements = ['0,0', '100,0', '210,10', '0,50', '105,50'].map(id => {
    const [x = 0, y = 0] = id.split(',').map(Number)
    return { id, x, y }
  })
  const check = (from: string, direction: Direction, expected: string | undefined): void => {
    const start = elements.find(({ id }) => id === from) ?? { id: '', x: 0, y: 0 }
    assert.equal(nextInDirection(elements, start, direction)?.id, expected, `${from} ${direction}`)
  }
  check('0,0', 'ArrowRight', '100,0')
  check('100,0', 'ArrowRight', '210,10')
  check('100,0', 'ArrowDown', '105,50')
  check('105,50', 'ArrowLeft', '0,50')
  check('0,50', 'ArrowUp', '0,0')
  check('0,0', 'ArrowLeft', undefined)
})
