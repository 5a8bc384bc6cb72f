import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodeOf, podOf } from '../test-cluster.ts'
import { imageLocality } from './image-locality.ts'
import { pluginOf, scoresOf, snapshotOf } from './test-plugin.ts'

const plugin = pluginOf(imageLocality)

/** `web:1=300 db:2|registry/db:2=1000`: images with their names and sizes in MB. */
function nodeWith(name: string, text: string): Node {
  const node = nodeOf(name)
  const images = text
    .split(' ')
    .filter(word => word !== '')
    .map(word => {
      const [names = '', size] = word.split('=')
      return { names: names.split('|'), sizeBytes: Number(size) * 1024 * 1024 }
    })
  return { ...node, status: { ...node.status, images } }
}

/** `web:1 db; init; @volume`: containers, then init containers, then image volumes. */
function podWith(text: string): Pod {
  const [containers = '', initContainers = '', volumes = ''] = text.split(';').map(part => part.trim())
  const of = (part: string): { name: string; image: string }[] =>
    part
      .split(' ')
      .filter(word => word !== '')
      .map((image, index) => ({ name: `c${index}`, image }))
  return podOf('p', {
    containers: of(containers),
    initContainers: of(initContainers),
    volumes: of(volumes).map(({ name, image }) => ({ name, image: { reference: image } })),
  })
}

const cases: readonly (readonly [string, readonly string[], readonly number[] | undefined])[] = [
  // No node has the image.
  ['web:1', ['', ''], undefined],
  ['web:1', ['db:1=500', ''], undefined],
  // Half of the nodes have it, so half of its size counts: (150 - 23) / (1000 - 23).
  ['web:1', ['web:1=300', ''], [12, 0]],
  ['web:1', ['web:1=300', 'web:1=300'], [28, 28]],
  // A name without a tag means `latest`.
  ['web', ['web:latest=1000', 'web:1=1000'], [48, 0]],
  ['registry:5000/web', ['registry:5000/web:latest=1000', ''], [48, 0]],
  // Any name of the image matches.
  ['registry/db:2', ['db:2|registry/db:2=1000', ''], [48, 0]],
  // Small images are ignored, and large ones are capped.
  ['web:1', ['web:1=40', ''], [0, 0]],
  ['web:1', ['web:1=9000', ''], [100, 0]],
  // The maximum grows with the number of containers: (250 - 23) / (2000 - 23).
  ['web:1 db:1', ['web:1=500', 'db:1=500'], [11, 11]],
  ['web:1; db:1', ['web:1=500 db:1=500', ''], [24, 0]],
  // Image volumes count, but do not raise the maximum.
  ['web:1; ; data:1', ['data:1=500', ''], [23, 0]],
]

for (const [pod, nodes, want] of cases) {
  test(`a pod with ${pod} and nodes with ${JSON.stringify(nodes)}`, () => {
    const snapshot = snapshotOf(nodes.map((text, index) => nodeWith(`n${index}`, text)))
    const scores = scoresOf(plugin, podWith(pod), snapshot)
    assert.deepEqual(scores && Object.values(scores), want)
  })
}
