import { isApiError } from '#/api/errors.ts'
import type { Subject } from '#/api/generated/rbac/v1.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import {
  planBinding,
  planRole,
  type Binding,
  type BindingReconciliation,
  type RoleOwner,
  type RoleReconciliation,
} from '../../auth/plan-reconciliation.ts'
import { ruleText } from '../../auth/policy-rules.ts'
import { defineCommand, type Invocation } from '../../command.ts'
import type { Factory } from '../../factory.ts'
import { boolFlag } from '../../flag-types.ts'
import { printFlags } from '../../printers/object-printer.ts'
import { resultPrinterOf, type ResultPrinter } from '../../printers/result-printer.ts'
import { builtInResources } from '../../resource/built-in-resources.ts'
import { findResources, throwAny, visitInfos } from '../../resource/find-resources.ts'
import { kindText, locationOf, metadataText, type Info } from '../../resource/info.ts'
import { dryRunFlag, dryRunOf, filenameFlags, filesOf, hasFiles } from '../../write-flags.ts'

const flags = {
  ...printFlags,
  ...filenameFlags('Files, folders or URLs with the roles and bindings.'),
  'dry-run': dryRunFlag,
  'remove-extra-permissions': boolFlag('Remove rules of roles that the files do not have.'),
  'remove-extra-subjects': boolFlag('Remove subjects of bindings that the files do not have.'),
}

type ReconcileInvocation = Invocation<typeof flags>

export const command = defineCommand({
  usage: 'reconcile -f FILENAME',
  description: `Reconciles roles, cluster roles and their bindings with files.

Missing objects are created, and their namespaces if necessary. Roles get the rules of the files in addition
to those that they have, and bindings the subjects; --remove-extra-permissions and --remove-extra-subjects
remove what the files do not have. Unlike "apply", this compares what rules allow, not how they are written.
Other kinds of objects in the files are ignored.`,
  examples: `  # The roles and bindings of a file
  kubectl auth reconcile -f my-rbac-rules.yaml`,
  flags,
  async run(invocation) {
    const { args, flags: given, factory, streams } = invocation
    if (!hasFiles(given)) throw new Error('must specify one of -f and -k')
    const files = filesOf(given)
    if (args.length > 0) throw new Error('no arguments are allowed')
    const dryRun = dryRunOf(given['dry-run'], streams)
    if (dryRun === 'server') throw new Error('--dry-run=server for command reconcile is not supported yet')
    const print = await resultPrinterOf({
      flags: given,
      machine: factory.machine,
      dryRun,
      keepsFieldOrder: true,
    })
    const { infos, errors } = await findResources(factory, files)
    const isDryRun = dryRun === 'client'
    throwAny([
      ...errors,
      ...(await visitInfos(infos, info => reconcile(invocation, { info, print, isDryRun }))),
    ])
  },
})

interface ReconcileOptions {
  readonly info: Info
  readonly print: ResultPrinter
  readonly isDryRun: boolean
}

type AnyReconciliation = RoleReconciliation | BindingReconciliation

/** Attempts after an object was changed, created or deleted concurrently. */
const attemptsMax = 3

async function reconcile(
  invocation: ReconcileInvocation,
  { info, print, isDryRun }: ReconcileOptions,
): Promise<void> {
  const { mapping } = info
  if (mapping.group !== 'rbac.authorization.k8s.io') return
  if (mapping.version !== 'v1')
    throw new Error(`only rbac.authorization.k8s.io/v1 is supported: not ${mapping.version}`)
  const expected = { ...info, object: inNamespace(info) }
  for (let attempt = 1; ; attempt++) {
    const { factory } = invocation
    const existing = await find(factory, info)
    const planned = plan(invocation, { expected: expected.object, existing })
    if (planned === undefined) return
    try {
      const changed =
        isDryRun || planned.isProtected ? undefined : await perform(factory, { info, planned, existing })
      print(changed ?? (planned.object as unknown as JsonObject), 'reconciled')
    } catch (error) {
      const isRace = ['Conflict', 'AlreadyExists', 'NotFound'].some(
        reason => isApiError(error) && error.reason === reason,
      )
      if (!isRace || attempt === attemptsMax) throw error
      continue
    }
    return invocation.streams.stderr.write(describePlan(invocation, planned))
  }
}

/** The object of a file, with the namespace it belongs to. */
function inNamespace({ object = {}, namespace }: Info): JsonObject {
  const { metadata } = object
  if (namespace === '' || typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    return object
  return { ...object, metadata: { ...metadata, namespace } }
}

async function find(factory: Factory, info: Info): Promise<JsonObject | undefined> {
  const resources = await factory.resources()
  try {
    return await resources.get(locationOf(info))
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw error
  }
}

/** Undefined for a kind that is not reconciled. */
function plan(
  { flags: given }: ReconcileInvocation,
  objects: { readonly expected: JsonObject; readonly existing: JsonObject | undefined },
): AnyReconciliation | undefined {
  const { expected, existing } = objects
  switch (kindText(expected)) {
    case 'Role':
    case 'ClusterRole':
      return planRole({
        existing: existing as unknown as RoleOwner | undefined,
        expected: expected as unknown as RoleOwner,
        removeExtraPermissions: given['remove-extra-permissions'] ?? false,
      })
    case 'RoleBinding':
    case 'ClusterRoleBinding':
      return planBinding({
        existing: existing as unknown as Binding | undefined,
        expected: expected as unknown as Binding,
        removeExtraSubjects: given['remove-extra-subjects'] ?? false,
      })
  }
  return undefined
}

interface PerformOptions {
  readonly info: Info
  readonly planned: AnyReconciliation
  readonly existing: JsonObject | undefined
}

async function perform(
  factory: Factory,
  { info, planned, existing }: PerformOptions,
): Promise<JsonObject | undefined> {
  const resources = await factory.resources()
  const object = planned.object as unknown as JsonObject
  const location = locationOf(info)
  switch (planned.operation) {
    case 'none':
      return undefined
    case 'update':
      return resources.replace(location, object)
    case 'recreate':
      await resources.delete(location, { preconditions: { uid: metadataText(existing ?? {}, 'uid') } })
      return resources.create(location, object)
    case 'create':
      if (info.namespace !== '') await ensureNamespace(factory, info.namespace)
      return resources.create(location, object)
  }
}

/** Users who may not create namespaces may still create roles in them. */
async function ensureNamespace(factory: Factory, name: string): Promise<void> {
  const resources = await factory.resources()
  const location = { mapping: builtInResources.namespaces, name }
  try {
    await resources.get(location)
    return
  } catch (error) {
    if (!isApiError(error, 'NotFound') && !isApiError(error, 'Forbidden')) throw error
  }
  try {
    await resources.create(location, { kind: 'Namespace', apiVersion: 'v1', metadata: { name } })
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists') && !isApiError(error, 'Forbidden')) throw error
  }
}

function describePlan({ flags: given }: ReconcileInvocation, planned: AnyReconciliation): string {
  const { operation, isProtected } = planned
  if (operation === 'none') return ''
  const caveat = isProtected
    ? ', but object opted out (rbac.authorization.kubernetes.io/autoupdate: false)'
    : ''
  const lists =
    'missingRules' in planned
      ? [
          list('missing rules added', planned.missingRules.map(ruleText)),
          given['remove-extra-permissions']
            ? list('extra rules removed', planned.extraRules.map(ruleText))
            : '',
        ]
      : [
          list('missing subjects added', planned.missingSubjects.map(subjectText)),
          given['remove-extra-subjects']
            ? list('extra subjects removed', planned.extraSubjects.map(subjectText))
            : '',
        ]
  return `\treconciliation required ${operation}${caveat}\n${lists.join('')}`
}

function list(label: string, items: readonly string[]): string {
  return items.length === 0 ? '' : `\t${label}:\n${items.map(item => `\t\t${item}\n`).join('')}`
}

function subjectText({ kind, apiGroup = '', name, namespace = '' }: Subject): string {
  return `{Kind:${kind} APIGroup:${apiGroup} Name:${name} Namespace:${namespace}}`
}
