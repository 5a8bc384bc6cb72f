import { UsageError } from '#/base/flags.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import {
  applyFlags,
  clientSideManager,
  serverSideManager,
  validateApplyFlags,
  type ApplyInvocation,
} from '../apply/apply-flags.ts'
import type { ReadAhead } from '../apply/read-ahead.ts'
import type { ApplySet } from '../apply/apply-set.ts'
import { changeCauseOf, withChangeCause } from '../change-cause.ts'
import { defineCommand } from '../command.ts'
import { propagationPolicyOf } from '../delete/delete-flags.ts'
import { CommandUsageError } from '../errors.ts'
import { objectPrinterOf, splitOutput } from '../printers/object-printer.ts'
import { resultPrinterOf } from '../printers/result-printer.ts'
import { findResources, throwAny } from '../resource/find-resources.ts'
import { metadataText, type Info } from '../resource/info.ts'
import { dryRunOf, fieldValidationOf, filesOf, hasFiles, type DryRun } from '../write-flags.ts'

export const command = defineCommand({
  usage: 'apply (-f FILENAME | -k DIRECTORY)',
  description: `Applies a configuration to objects by file or stdin. The name of an object must be given;
objects that do not exist are created.

The configuration is stored in an annotation. The next apply removes the fields that are no longer in the
configuration, and keeps those that others have set. With --server-side the server does this with the
managers of the fields.

With --prune, objects that were applied before and are no longer in the files are deleted. Use it only if
you know which objects are selected.`,
  examples: `  # The objects of a file
  kubectl apply -f pod.json

  # The objects of a kustomization
  kubectl apply -k overlays/test

  # The objects on stdin
  cat pod.json | kubectl apply -f -

  # Delete the objects with the label that were applied before and are not in the file
  kubectl apply --prune -f manifest.yaml -l app=nginx

  # Only config maps are deleted
  kubectl apply --prune -f manifest.yaml --all --prune-allowlist=core/v1/ConfigMap

  # Let the server merge, and take over the fields of other managers
  kubectl apply --server-side --force-conflicts -f web.yaml`,
  flags: applyFlags,
  subcommands: {
    'edit-last-applied': {
      summary: 'Edit the configuration that was applied last, and apply it',
      load: () => import('./apply/edit-last-applied.ts'),
    },
    'set-last-applied': {
      summary: 'Store the content of a file as the configuration that was applied last',
      load: () => import('./apply/set-last-applied.ts'),
    },
    'view-last-applied': {
      summary: 'Show the configuration that was applied last',
      load: () => import('./apply/view-last-applied.ts'),
    },
  },
  async run(invocation) {
    const { args, flags, factory, streams } = invocation
    if (args.length > 0) throw new CommandUsageError(`Unexpected args: [${args.join(' ')}]`)
    if (flags.applyset !== undefined && factory.machine.environment['KUBECTL_APPLYSET'] !== 'true') {
      throw new UsageError('unknown flag: --applyset')
    }
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const deletion = {
      propagationPolicy: propagationPolicyOf(flags.cascade, streams),
      gracePeriodSeconds: (flags['grace-period'] ?? -1) < 0 ? undefined : flags['grace-period'],
      dryRun: dryRun === 'server',
    }
    if (!hasFiles(flags)) throw new Error('must specify one of -f and -k')
    const fieldValidation = fieldValidationOf(flags.validate)
    await objectPrinterOf({ flags, machine: factory.machine })
    const applySet = await openApplySet(invocation, { dryRun, deletion, fieldValidation })
    const found = await findResources(factory, {
      ...filesOf(flags),
      labelSelector: flags.selector,
      validatesType: fieldValidation !== 'Ignore',
    })
    const infos = found.infos.map(info => configured(invocation, { info, applySet }))
    if (infos.length === 0 && found.errors.length === 0) throw new Error('no objects passed to apply')
    await applySet?.begin(infos)
    const run = new ApplyRun(invocation, { dryRun, deletion, fieldValidation })
    throwAny([...found.errors, ...(await run.applyAll(infos))])
    await run.printList()
    if (applySet !== undefined) await applySet.prune(run.uids, object => run.print(object, 'pruned'))
    else if (flags.prune) {
      const { prune } = await import('../apply/prune.ts')
      const { uids, namespaces } = run
      await prune(factory, {
        allowed: flags['prune-allowlist'] ?? [],
        visited: { uids, namespaces },
        labelSelector: flags.selector,
        deletion,
        isOnlyShown: dryRun === 'client',
        print: object => run.print(object, 'pruned'),
      })
    }
  },
})

type Deletion = Parameters<typeof ApplySet.open>[1]['deletion']

interface RunOptions {
  readonly dryRun: DryRun
  readonly deletion: Deletion
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore'
}

/** Undefined without `--applyset`. Throws Error for flags that contradict each other. */
async function openApplySet({ flags, factory }: ApplyInvocation, options: RunOptions) {
  const { applyset, prune } = flags
  if (prune) {
    const { requirePruneKinds } = await import('../apply/prune.ts')
    await requirePruneKinds(factory, flags['prune-allowlist'] ?? [])
  }
  if (!applyset) {
    validateApplyFlags(flags, options.dryRun)
    return undefined
  }
  const { ApplySet } = await import('../apply/apply-set.ts')
  const applySet = await ApplySet.open(applyset, { factory, ...options })
  validateApplyFlags(flags, options.dryRun)
  await applySet.requireParent()
  return applySet
}

function configured(
  invocation: ApplyInvocation,
  { info, applySet }: { readonly info: Info; readonly applySet: ApplySet | undefined },
): Info {
  const object = withChangeCause(info.object ?? {}, changeCauseOf(invocation))
  return { ...info, object: applySet?.labeled(object) ?? object }
}

class ApplyRun {
  readonly #invocation: ApplyInvocation
  readonly #options: RunOptions
  readonly #applied: JsonObject[] = []
  /** Of the applied objects; pruning keeps them. */
  readonly uids = new Set<string>()
  readonly namespaces = new Set<string>()

  constructor(invocation: ApplyInvocation, options: RunOptions) {
    this.#invocation = invocation
    this.#options = options
  }

  /** Returns the errors. */
  async applyAll(infos: readonly Info[]): Promise<readonly unknown[]> {
    const { namespace, isExplicit } = await this.#invocation.factory.namespace()
    if (isExplicit) this.namespaces.add(namespace)
    const errors: unknown[] = []
    const { ReadAhead } = await import('../apply/read-ahead.ts')
    const live = new ReadAhead(this.#invocation.factory, infos)
    for (const info of infos) {
      try {
        await this.#apply(info, live)
      } catch (error) {
        errors.push(error)
      }
    }
    return errors
  }

  async #apply(info: Info, live: ReadAhead): Promise<void> {
    const { flags, factory } = this.#invocation
    if (info.mapping.scope === 'Namespaced') this.namespaces.add(info.namespace)
    const prefix = metadataText(info.object ?? {}, 'generateName')
    if (info.name === '' && prefix !== '')
      throw new Error(`from ${prefix}: cannot use generate name with apply`)
    const { object, operation } = flags['server-side']
      ? await this.#serverSide(info)
      : await this.#clientSide(info, await live.current(info))
    if (operation !== 'created' && isDeleting(object)) {
      factory.printWarning(`Detected changes to resource ${info.name} which is currently being deleted.`)
    }
    this.uids.add(metadataText(object, 'uid'))
    this.#applied.push(object)
    if (!this.#printsList()) await this.print(object, operation)
  }

  async #serverSide(info: Info) {
    const { flags, factory } = this.#invocation
    const { dryRun, fieldValidation } = this.#options
    const { serverSideApply } = await import('../apply/server-side-apply.ts')
    const fieldManager = flags['field-manager'] ?? serverSideManager
    const force = flags['force-conflicts'] ?? false
    const object = await serverSideApply(info, {
      factory,
      subresource: flags.subresource,
      write: { dryRun: dryRun === 'server', fieldManager, fieldValidation, force },
    })
    return { object, operation: 'serverside-applied' }
  }

  async #clientSide(info: Info, current: JsonObject | undefined) {
    const { flags, factory } = this.#invocation
    const { dryRun, deletion, fieldValidation } = this.#options
    const { clientSideApply } = await import('../apply/client-side-apply.ts')
    const fieldManager = flags['field-manager'] ?? clientSideManager
    return clientSideApply(info, {
      factory,
      current,
      dryRun,
      write: { dryRun: dryRun === 'server', fieldManager, fieldValidation },
      overwrite: flags.overwrite ?? true,
      force: flags.force ?? false,
      deletion,
      timeoutMs: flags.timeout ?? 0,
    })
  }

  async print(object: JsonObject, operation: string): Promise<void> {
    const { flags, factory } = this.#invocation
    const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun: this.#options.dryRun })
    print(object, operation)
  }

  /** Whole objects are printed as one list at the end. */
  #printsList(): boolean {
    return !['', 'name'].includes(splitOutput(this.#invocation.flags).format)
  }

  async printList(): Promise<void> {
    if (!this.#printsList()) return
    const { flags, factory, streams } = this.#invocation
    const print = await objectPrinterOf({ flags, machine: factory.machine })
    const [first, ...others] = this.#applied
    if (first === undefined || print === undefined) return
    const list = { apiVersion: 'v1', kind: 'List', metadata: {}, items: [...this.#applied] }
    streams.write(print(others.length === 0 ? first : list))
  }
}

function isDeleting({ metadata }: JsonObject): boolean {
  return isObject(metadata) && typeof metadata['deletionTimestamp'] === 'string'
}
