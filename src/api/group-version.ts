/**
 * Parsing and formatting of group, version and kind or resource: in objects (`apps/v1`), in messages
 * (`apps/v1, Kind=Deployment`), in resource names (`deployments.apps`) and in kubectl arguments
 * (`deployments.v1.apps`). Version ordering is in `version-priority.ts`.
 */
import {
  apiVersionOf,
  type GroupVersion,
  type GroupVersionKind,
  type GroupVersionResource,
} from './resource.ts'
import type { TypeMeta } from './decoding/type-meta.ts'

export interface GroupResource {
  /** Empty for the core group. */
  readonly group: string
  /** Plural name. */
  readonly resource: string
}

export interface GroupKind {
  readonly group: string
  readonly kind: string
}

/**
 * Undefined if there is more than one slash. An empty text or a single slash gives an empty group and
 * version.
 */
export function parseGroupVersion(text: string): GroupVersion | undefined {
  const slash = text.indexOf('/')
  if (slash === -1) return { group: '', version: text }
  if (text.includes('/', slash + 1)) return undefined
  return { group: text.slice(0, slash), version: text.slice(slash + 1) }
}

/** The group, version and kind from the object's type metadata. Undefined if `apiVersion` is malformed. */
export function groupVersionKindOf(object: Partial<TypeMeta>): GroupVersionKind | undefined {
  const groupVersion = parseGroupVersion(object.apiVersion ?? '')
  return groupVersion && { ...groupVersion, kind: object.kind ?? '' }
}

/** The type metadata of an object of this kind. */
export function typeMetaOf(kind: GroupVersionKind): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind }
}

/** `apps/v1, Kind=Deployment`; with a leading slash for the core group: `/v1, Kind=Pod`. */
export function formatGroupVersionKind({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}, Kind=${kind}`
}

/** `apps/v1, Resource=deployments`. */
export function formatGroupVersionResource({ group, version, resource }: GroupVersionResource): string {
  return `${group}/${version}, Resource=${resource}`
}

/** `deployments.apps`, `pods`. */
export function formatGroupResource({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`
}

/** `Deployment.apps`, `Pod`. */
export function formatGroupKind({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`
}

/** Everything after the first dot is the group. */
export function parseGroupResource(text: string): GroupResource {
  const [resource, group] = cutAtDot(text)
  return { group, resource }
}

/** Everything after the first dot is the group. */
export function parseGroupKind(text: string): GroupKind {
  const [kind, group] = cutAtDot(text)
  return { group, kind }
}

/** Reads `a.b.c` as a resource with its version. Undefined with fewer than two dots. */
export function parseGroupVersionResource(text: string): GroupVersionResource | undefined {
  const [resource, rest] = cutAtDot(text)
  const [version, group] = cutAtDot(rest)
  return rest.includes('.') ? { group, version, resource } : undefined
}

/** Reads `A.b.c` as a kind with its version. Undefined with fewer than two dots. */
export function parseGroupVersionKind(text: string): GroupVersionKind | undefined {
  const parsed = parseGroupVersionResource(text)
  return parsed && { group: parsed.group, version: parsed.version, kind: parsed.resource }
}

function cutAtDot(text: string): readonly [string, string] {
  const dot = text.indexOf('.')
  return dot === -1 ? [text, ''] : [text.slice(0, dot), text.slice(dot + 1)]
}
