import type {
  ApplyOptions,
  DeleteOptions,
  GetOptions,
  ListOptions,
  WatchOptions,
  WriteOptions,
} from '../client.ts'

type Parameters = Readonly<Record<string, string | number | boolean | undefined>>

export function getQuery({ resourceVersion, includeUninitialized }: GetOptions): URLSearchParams {
  return queryOf({ resourceVersion, includeUninitialized: includeUninitialized || undefined })
}

export function listQuery(options: ListOptions): URLSearchParams {
  const { labelSelector, fieldSelector, limit, resourceVersion, resourceVersionMatch, timeoutSeconds } =
    options
  return queryOf({
    labelSelector: textOf(labelSelector),
    fieldSelector: textOf(fieldSelector),
    limit,
    continue: options.continue,
    resourceVersion,
    resourceVersionMatch,
    timeoutSeconds,
    includeUninitialized: options.includeUninitialized || undefined,
  })
}

export function watchQuery(options: WatchOptions): URLSearchParams {
  const { labelSelector, fieldSelector, resourceVersion, resourceVersionMatch, timeoutSeconds } = options
  return queryOf({
    watch: true,
    labelSelector: textOf(labelSelector),
    fieldSelector: textOf(fieldSelector),
    resourceVersion,
    resourceVersionMatch,
    timeoutSeconds,
    allowWatchBookmarks: options.allowWatchBookmarks || undefined,
    sendInitialEvents: options.sendInitialEvents,
    includeUninitialized: options.includeUninitialized || undefined,
  })
}

export function writeQuery({ dryRun, fieldManager, fieldValidation }: WriteOptions): URLSearchParams {
  return queryOf({ dryRun: dryRun ? 'All' : undefined, fieldManager, fieldValidation })
}

export function applyQuery({ force, ...options }: ApplyOptions): URLSearchParams {
  const query = writeQuery(options)
  if (force !== undefined) query.set('force', String(force))
  return query
}

/** Delete options are sent in the body, which has fields for all of them. */
export function deleteBody(options: DeleteOptions): object {
  const { dryRun, gracePeriodSeconds, propagationPolicy, preconditions } = options
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    ...(dryRun && { dryRun: ['All'] }),
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(propagationPolicy !== undefined && { propagationPolicy }),
    ...(preconditions !== undefined && { preconditions }),
  }
}

function textOf(selector: ListOptions['labelSelector'] | ListOptions['fieldSelector']): string | undefined {
  return selector === undefined ? undefined : selector.toString() || undefined
}

function queryOf(parameters: Parameters): URLSearchParams {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, String(value))
  }
  return query
}
