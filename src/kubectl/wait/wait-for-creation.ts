import { LinkedAbort } from '#/base/abort.ts'
import { isObject } from '#/api/text/json-object.ts'
import type { Factory } from '../factory.ts'
import { itemsOf, requireResources, type ResourceQuery } from '../resource/find-resources.ts'
import { locationOf, type Info } from '../resource/info.ts'
import { isTemporary, retryMs, watchObject } from '../resource/watch-object.ts'

/** Resolves when all named objects exist, or at least one that a selector matches. */
export async function waitForCreation(
  factory: Factory,
  query: ResourceQuery,
  signal: AbortSignal,
): Promise<void> {
  const infos = await requireResources(factory, { ...query, collections: true, latest: false })
  const named = infos.filter(({ name }) => name !== '')
  for (const info of named) await untilExists({ factory, info }, signal)
  const collections = infos.filter(({ name }) => name === '')
  if (collections.length === 0) return
  using first = new LinkedAbort(signal)
  try {
    await Promise.race(collections.map(info => untilAnyExists({ factory, info, query }, first.signal)))
  } finally {
    first.abort(new Error('another object exists'))
  }
}

interface Awaited {
  readonly factory: Factory
  readonly info: Info
}

async function untilExists({ factory, info }: Awaited, signal: AbortSignal): Promise<void> {
  const { clock } = factory.machine.platform
  const resources = await factory.resources()
  for await (const { object } of watchObject({ resources, clock, info }, signal)) {
    if (object !== undefined) return
  }
}

async function untilAnyExists(
  { factory, info, query }: Awaited & { readonly query: ResourceQuery },
  signal: AbortSignal,
): Promise<void> {
  const { clock } = factory.machine.platform
  for (;;) {
    try {
      await watchUntilExists({ factory, info, query }, signal)
      return
    } catch (error) {
      if (signal.aborted || !isTemporary(error)) throw error
      await clock.sleep(retryMs, signal)
    }
  }
}

async function watchUntilExists(
  { factory, info, query }: Awaited & { readonly query: ResourceQuery },
  signal: AbortSignal,
): Promise<void> {
  const { labelSelector, fieldSelector } = query
  const resources = await factory.resources()
  const location = locationOf(info)
  for (;;) {
    const list = await resources.get(location, { labelSelector, fieldSelector, signal })
    if (itemsOf(list).length > 0) return
    const { metadata } = list
    const version = isObject(metadata) ? metadata['resourceVersion'] : undefined
    const resourceVersion = typeof version === 'string' ? version : ''
    for await (const { type } of resources.watch(location, {
      labelSelector,
      fieldSelector,
      resourceVersion,
      signal,
    })) {
      if (type === 'ADDED' || type === 'MODIFIED') return
    }
  }
}
