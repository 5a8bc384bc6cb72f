/** The arguments of commands about one object, and its resource. */
import { UsageError } from '#/base/flags.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import { findResource } from '#/client/find-resource.ts'
import { resourcePath } from '#/client/resource-path.ts'

export interface ObjectWords {
  readonly kind: string
  readonly name: string
}

/** `KIND NAME` or `KIND/NAME`. */
export function objectWords(words: readonly string[], commandName: string): ObjectWords {
  const [kind, name, ...more] = words.length === 1 ? (words[0] ?? '').split('/') : words
  if (!kind || !name || more.length > 0) throw new UsageError(`usage: k8ts ${commandName} KIND NAME`)
  return { kind, name }
}

export interface ObjectTarget {
  readonly resource: Resource
  readonly path: string
  /** `Deployment shop/web`. */
  readonly title: string
}

export interface ObjectChoice extends ObjectWords {
  /** Ignored for cluster-scoped kinds. */
  readonly namespace: string
}

/** Throws UsageError for an unknown kind. */
export async function findTarget(
  client: Client,
  { kind, name, namespace }: ObjectChoice,
): Promise<ObjectTarget> {
  const resource = await requireResource(client, kind)
  const isNamespaced = resource.scope === 'Namespaced'
  const path = resourcePath(resource, { name, ...(isNamespaced && { namespace }) })
  return { resource, path, title: `${resource.kind} ${isNamespaced ? `${namespace}/` : ''}${name}` }
}

export async function requireResource(client: Client, kind: string): Promise<Resource> {
  const resource = await findResource(client, kind)
  if (resource !== undefined) return resource
  throw new UsageError(`the server has no resource of the kind ${JSON.stringify(kind)}`)
}
