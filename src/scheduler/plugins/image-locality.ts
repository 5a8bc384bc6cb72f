import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { scoreMax, type PluginFactory } from '../framework.ts'
import type { Snapshot } from '../snapshot.ts'

const megabyte = 1024 * 1024

/** Lower threshold of the image size, and upper bound per container. */
const bytesMin = 23 * megabyte
const bytesMaxEach = 1_000 * megabyte

/**
 * Prefers nodes that already have the pod's images; images on few nodes count less, to avoid concentrating
 * pods there.
 */
export const imageLocality: PluginFactory = () => ({
  name: 'ImageLocality',
  score: ({ pod }, snapshot) => {
    const names = imagesOf(pod)
    // Image volumes add to the score, but the maximum depends on the number of containers only.
    const containers = (pod.spec?.initContainers ?? []).length + (pod.spec?.containers ?? []).length
    const worth = new Map(names.flatMap(name => worthOf(name, snapshot)))
    if (worth.size === 0) return undefined
    const bytesMax = bytesMaxEach * containers
    return {
      score: ({ node }) => {
        const here = namesOn(node)
        const sum = names.reduce((total, name) => total + (here.has(name) ? (worth.get(name) ?? 0) : 0), 0)
        const bytes = Math.min(bytesMax, Math.max(bytesMin, sum))
        return Math.trunc((scoreMax * (bytes - bytesMin)) / (bytesMax - bytesMin))
      },
    }
  },
})

function worthOf(name: string, { images, nodes }: Snapshot): readonly (readonly [string, number])[] {
  const image = images.get(name)
  return image === undefined ? [] : [[name, Math.trunc(image.sizeBytes * (image.nodes / nodes.length))]]
}

function imagesOf({ spec }: Pod): readonly string[] {
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(
    ({ image = '' }) => image,
  )
  const volumes = (spec?.volumes ?? []).flatMap(({ image }) =>
    image?.reference === undefined ? [] : [image.reference],
  )
  return [...containers, ...volumes].map(withTag)
}

function withTag(name: string): string {
  return name.lastIndexOf(':') <= name.lastIndexOf('/') ? `${name}:latest` : name
}

/** Cache per version of the image list. */
const known = new WeakMap<object, ReadonlySet<string>>()
const nothing: ReadonlySet<string> = new Set()

function namesOn({ status }: Node): ReadonlySet<string> {
  const images = status?.images
  if (images === undefined) return nothing
  const names = known.get(images) ?? new Set(images.flatMap(image => image.names ?? []))
  known.set(images, names)
  return names
}
