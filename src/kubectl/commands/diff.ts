import { isApiError } from '#/api/errors.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { applyModeFlags, clientSideManager, serverSideManager } from '../apply/apply-flags.ts'
import { findPrunedObjects, requirePruneKinds } from '../apply/prune.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { DiffFolders } from '../diff/diff-folders.ts'
import { maskSecrets, mergedObject } from '../diff/object-versions.ts'
import { ContextError, CommandUsageError } from '../errors.ts'
import { boolFlag, intFlag } from '../flag-types.ts'
import { withoutManagedFields } from '../printers/object-printer.ts'
import { findResources, throwAny } from '../resource/find-resources.ts'
import {
  apiVersionText,
  kindText,
  locationOf,
  metadataText,
  requireObjectName,
  type Info,
} from '../resource/info.ts'
import { filenameFlags, filesOf, hasFiles } from '../write-flags.ts'

const diffFlags = {
  ...filenameFlags('Files, folders or URLs with the objects to compare.'),
  ...applyModeFlags,
  'concurrency': intFlag('Number of objects that are read at the same time.', { shownDefault: '1' }),
  'prune': boolFlag('Include the objects that apply --prune would delete.'),
  'show-managed-fields': boolFlag('Include managedFields.'),
  'show-secrets': boolFlag('Show the data of Secrets instead of asterisks.'),
}

type DiffInvocation = Invocation<typeof diffFlags>

export const command = defineCommand({
  usage: 'diff -f FILENAME',
  description: `Shows the differences between the objects at the server and what they would become with
"kubectl apply".

The objects are written as YAML to two folders, LIVE and MERGED, which a diff program compares: "diff -u
-N", or that of the environment variable KUBECTL_EXTERNAL_DIFF, such as "colordiff -N -u".

Exit codes: 0 without differences, 1 with differences, more than 1 if kubectl or the diff program failed.`,
  examples: `  # The changes of a file
  kubectl diff -f pod.json

  # The changes of objects on stdin
  cat service.yaml | kubectl diff -f -`,
  flags: diffFlags,
  errorExitCode: 2,
  async run(invocation) {
    const { args, flags, factory } = invocation
    if (args.length > 0) throw new CommandUsageError(`Unexpected args: [${args.join(' ')}]`)
    if (!hasFiles(flags)) throw new Error('must specify one of -f and -k')
    if (flags['force-conflicts'] && !flags['server-side']) {
      throw new Error('--force-conflicts only works with --server-side')
    }
    if (flags.prune) await requirePruneKinds(factory, flags['prune-allowlist'] ?? [])
    const { infos, errors } = await findResources(factory, {
      ...filesOf(flags),
      labelSelector: flags.selector,
    })
    await using folders = await DiffFolders.create(factory.machine)
    const run = new DiffRun(invocation, folders)
    const failures = await run.compareAll(infos)
    if (flags.prune) await run.addPruned()
    throwAny([...errors, ...failures])
    await folders.compare()
  },
})

/** Attempts with the version that was read; the next one does not compare versions. */
const lockedAttemptsMax = 3

class DiffRun {
  readonly #invocation: DiffInvocation
  readonly #folders: DiffFolders
  readonly #uids = new Set<string>()
  readonly #namespaces = new Set<string>()

  constructor(invocation: DiffInvocation, folders: DiffFolders) {
    this.#invocation = invocation
    this.#folders = folders
  }

  /** Returns the errors. */
  async compareAll(infos: readonly Info[]): Promise<readonly unknown[]> {
    const concurrency = Math.max(1, this.#invocation.flags.concurrency ?? 1)
    const errors: unknown[] = []
    const rest = infos.values()
    const work = async (): Promise<void> => {
      for (const info of rest) await this.#compare(info).catch((error: unknown) => errors.push(error))
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, infos.length) }, work))
    return errors
  }

  async #compare(info: Info): Promise<void> {
    const { factory } = this.#invocation
    for (let attempt = 1; ; attempt++) {
      const isLocked = attempt <= lockedAttemptsMax
      const live = await this.#live(info)
      if (!isLocked) factory.printWarning(`Object ${info.name} keeps changing, diffing without lock`)
      if (info.mapping.scope === 'Namespaced') this.#namespaces.add(info.namespace)
      if (live !== undefined) this.#uids.add(metadataText(live, 'uid'))
      try {
        await this.#write(info, { live, isLocked })
      } catch (error) {
        const cause = error instanceof ContextError ? error.cause : error
        if (isLocked && isApiError(cause, 'Conflict')) continue
        throw error
      }
      const { metadata } = live ?? {}
      if (isObject(metadata) && metadata['deletionTimestamp'] !== undefined) {
        factory.printWarning(`Detected changes to resource ${info.name} which is currently being deleted.`)
      }
      return
    }
  }

  async #live(info: Info): Promise<JsonObject | undefined> {
    requireObjectName(info)
    const resources = await this.#invocation.factory.resources()
    try {
      return await resources.get(locationOf(info))
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined
      throw error
    }
  }

  async #write(
    info: Info,
    { live, isLocked }: { readonly live: JsonObject | undefined; readonly isLocked: boolean },
  ) {
    const { flags, factory } = this.#invocation
    const isServerSide = flags['server-side'] ?? false
    const merged = await mergedObject(info, {
      factory,
      live,
      isLocked,
      isServerSide,
      force: flags['force-conflicts'] ?? false,
      fieldManager: flags['field-manager'] ?? (isServerSide ? serverSideManager : clientSideManager),
    })
    const shown = { ...(live && { live: this.#shown(live) }), merged: this.#shown(merged) }
    const masked = isSecret(merged) && !flags['show-secrets'] ? maskSecrets(shown) : shown
    await this.#folders.write(fileName(merged, info), masked)
  }

  #shown(object: JsonObject): JsonObject {
    return this.#invocation.flags['show-managed-fields'] ? object : withoutManagedFields(object)
  }

  /** Pruned objects have no merged version. */
  async addPruned(): Promise<void> {
    const { flags, factory } = this.#invocation
    const visited = { uids: this.#uids, namespaces: this.#namespaces }
    const allowed = flags['prune-allowlist'] ?? []
    try {
      for await (const { info, object } of findPrunedObjects(factory, {
        visited,
        allowed,
        labelSelector: flags.selector,
      })) {
        await this.#folders.write(fileName(object, info), { live: object })
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      factory.printWarning(`pruning failed and could not be evaluated err: ${reason}`)
    }
  }
}

function isSecret(object: JsonObject): boolean {
  return apiVersionText(object) === 'v1' && kindText(object) === 'Secret'
}

/** `apps.v1.Deployment.default.web`. */
function fileName(object: JsonObject, { mapping, namespace }: Info): string {
  const { group, version, kind } = mapping
  return [...(group === '' ? [] : [group]), version, kind, namespace, metadataText(object, 'name')].join('.')
}
