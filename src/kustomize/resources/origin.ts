import { posix } from 'node:path'
import { textOf } from '../documents/value.ts'
import type { Resource } from './resource.ts'

/** Where a resource comes from: the path of its file, or the generator that made it. */
export interface Origin {
  readonly path?: string
  readonly configuredIn?: string
  readonly configuredBy?: {
    readonly apiVersion: string
    readonly kind: string
    readonly name?: string
    readonly namespace?: string
  }
}

export function appendPath(origin: Origin, path: string): Origin {
  return { ...origin, path: posix.join(origin.path ?? '', path) }
}

/** The origin of what a builtin generator or transformer of a kustomization file makes. */
export function builtinOrigin(folder: Origin, fileName: string, kind: string): Origin {
  return {
    configuredIn: posix.join(folder.path ?? '', fileName),
    configuredBy: { apiVersion: 'builtin', kind },
  }
}

/** The origin of what the generator or transformer in a resource makes. */
export function originOfConfiguration(resource: Resource): Origin | undefined {
  if (resource.origin === undefined) return undefined
  const { name, namespace, kind, object } = resource
  const apiVersion = textOf(object['apiVersion'])
  const names = { ...(name !== '' && { name }), ...(namespace !== '' && { namespace }) }
  const configuredIn = resource.origin.path
  return { ...(configuredIn !== undefined && { configuredIn }), configuredBy: { apiVersion, kind, ...names } }
}

/** Paths and names as YAML; none of them needs quotes. */
export function formatOrigin({ path, configuredIn, configuredBy }: Origin): string {
  const lines: string[] = []
  if (path !== undefined && path !== '') lines.push(`path: ${path}`)
  if (configuredIn !== undefined) lines.push(`configuredIn: ${configuredIn}`)
  if (configuredBy !== undefined) {
    lines.push('configuredBy:')
    for (const [key, value] of Object.entries(configuredBy)) lines.push(`  ${key}: ${value}`)
  }
  return lines.map(line => `${line}\n`).join('')
}

export function formatTransformations(transformations: readonly Origin[]): string {
  return transformations
    .map(each => formatOrigin(each).replaceAll(/^/gm, '  ').replace(/^ {2}/, '- ').trimEnd())
    .map(text => `${text}\n`)
    .join('')
}
