import { createHash } from 'node:crypto'
import type { JsonObject } from '#/api/text/json-object.ts'
import { toCompactJson } from '../printers/object-printer.ts'

const hashLength = 10

/** Characters that could form words are replaced. */
const replacements: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' }

/** The hash that `--append-hash` and kustomize append to the names of config maps and secrets. */
function nameHash(content: JsonObject): string {
  const hex = createHash('sha256').update(toCompactJson(content)).digest('hex')
  return hex.slice(0, hashLength).replaceAll(/[013ae]/g, digit => replacements[digit]!)
}

/** Of a ConfigMap whose maps are sorted by key. */
export function configMapHash(name: string, { data, binaryData }: ConfigMapData): string {
  const hasBinaryData = Object.keys(binaryData).length > 0
  return nameHash({ ...(hasBinaryData && { binaryData }), data, kind: 'ConfigMap', name })
}

export interface ConfigMapData {
  readonly data: Record<string, string>
  /** In base64. */
  readonly binaryData: Record<string, string>
}

/** Of a Secret whose data are sorted by key. */
export function secretHash(name: string, { data, type }: SecretData): string {
  return nameHash({ data, kind: 'Secret', name, type })
}

export interface SecretData {
  /** In base64. */
  readonly data: Record<string, string>
  /** Empty for the default. */
  readonly type: string
}
