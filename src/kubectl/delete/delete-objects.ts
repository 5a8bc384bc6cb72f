import { isApiError } from '#/api/errors.ts'
import { ContextError } from '../errors.ts'
import type { Factory } from '../factory.ts'
import { locationOf, objectName, type Info } from '../resource/info.ts'
import { operationText, type DryRun } from '../write-flags.ts'
import { deleteOptionsOf, type DeletionPlan } from './delete-flags.ts'
import { deletedUid, type DeletedObject } from './wait-for-deletion.ts'

export interface DeleteObjectsOptions {
  readonly factory: Factory
  readonly plan: DeletionPlan
  readonly dryRun: DryRun
  readonly ignoreNotFound: boolean
  /** Prints only the names. */
  readonly printsNames: boolean
  /** Warns of the first object without a namespace. */
  readonly warnsOfScope?: boolean
}

/** Deletes the objects and prints their names. */
export async function deleteObjects(
  infos: readonly Info[],
  options: DeleteObjectsOptions,
): Promise<{ readonly deleted: readonly DeletedObject[]; readonly failures: readonly unknown[] }> {
  const { factory, plan, dryRun, ignoreNotFound } = options
  const deleted: DeletedObject[] = []
  const failures: unknown[] = []
  let { warnsOfScope = false } = options
  const resources = await factory.resources()
  for (const info of infos) {
    if (warnsOfScope && info.mapping.scope === 'Cluster') {
      factory.printWarning('deleting cluster-scoped resources, not scoped to the provided namespace')
      warnsOfScope = false
    }
    try {
      if (dryRun !== 'client') {
        const response = await resources.delete(locationOf(info), deleteOptionsOf(plan))
        deleted.push({ info, uid: deletedUid(response) })
      }
      printDeleted(info, options)
    } catch (error) {
      if (ignoreNotFound && isApiError(error, 'NotFound')) continue
      const { source } = info
      failures.push(
        source === undefined
          ? error
          : new ContextError(`error when deleting ${JSON.stringify(source)}`, error),
      )
    }
  }
  return { deleted, failures }
}

function printDeleted(info: Info, { factory, plan, dryRun, printsNames }: DeleteObjectsOptions): void {
  const { streams } = factory.machine
  if (printsNames) {
    streams.write(`${objectName(info)}\n`)
    return
  }
  const operation = plan.gracePeriodSeconds === 0 ? 'force deleted' : 'deleted'
  const place = info.mapping.scope === 'Namespaced' ? ` from ${info.namespace} namespace` : ''
  const [type, name] = objectName(info).split('/')
  streams.write(`${type} "${name}" ${operationText(`${operation}${place}`, dryRun)}\n`)
}
