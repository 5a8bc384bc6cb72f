import { controllerOf, type KubernetesObject } from '#/api/metadata.ts'
import type { DescribeWriter, Entry } from '../describe-writer.ts'

type StringMap = Readonly<Record<string, string>>

/** Labels, node selectors and other maps: each entry on its own line. */
export function describeMap(writer: DescribeWriter, label: string, map: StringMap | undefined): void {
  writer.list(0, label, mapLines(map))
}

/** `a=1`, sorted by key. */
export function mapLines(map: StringMap = {}): string[] {
  return sortedKeys(map).map(key => `${key}=${map[key]}`)
}

/** `a=1,b=2`, sorted by the whole pair. */
export function mapText(map: StringMap = {}): string {
  const pairs = Object.keys(map).map(key => `${key}=${map[key]}`)
  return pairs.sort().join(',') || '<none>'
}

export function describeLabels(writer: DescribeWriter, { metadata }: KubernetesObject): void {
  describeMap(writer, 'Labels', metadata.labels)
}

export function describeAnnotations(writer: DescribeWriter, { metadata }: KubernetesObject): void {
  writer.list(0, 'Annotations', annotationLines(metadata.annotations))
}

/** Long and multi-line values begin on a line of their own, and their lines are cut. */
export function annotationLines(annotations: StringMap = {}): string[] {
  return sortedKeys(annotations)
    .filter(key => key !== lastAppliedAnnotation)
    .flatMap(key => {
      const value = (annotations[key] ?? '').replace(/\n$/, '')
      const isShort = Buffer.byteLength(key) + Buffer.byteLength(value) + 2 <= lineBytesMax
      if (isShort && !value.includes('\n')) return [`${key}: ${value}`]
      return [`${key}:`, ...value.split('\n').map(line => `  ${cutBytes(line, lineBytesMax - 2)}`)]
    })
}

/** Maximum length of an annotation and of a CSI volume attribute. */
export const lineBytesMax = 140

export function cutBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  // Drops what is left of a character that was cut.
  return `${new TextDecoder().decode(bytes.subarray(0, bytesMax), { stream: true })}...`
}

/** `ReplicaSet/web`. */
export function controlledBy(object: KubernetesObject): Entry {
  const controller = controllerOf(object)
  return ['Controlled By', controller && `${controller.kind}/${controller.name}`]
}

export function sortedKeys(map: object = {}): string[] {
  return Object.keys(map).sort()
}

const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'
