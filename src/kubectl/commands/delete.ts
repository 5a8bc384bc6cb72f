import { isApiError } from '#/api/errors.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { deletionFlags, gracePeriodOf, propagationPolicyOf } from '../delete/delete-flags.ts'
import { waitForDeletion } from '../delete/wait-for-deletion.ts'
import { deleteObjects } from '../delete/delete-objects.ts'
import { boolFlag, stringFlag } from '../flag-types.ts'
import { findResources, throwAny, type ResourceQuery } from '../resource/find-resources.ts'
import { objectName, type Info } from '../resource/info.ts'
import { dryRunFlag, dryRunOf, filenameFlags, filesOf, selectorFlag } from '../write-flags.ts'

const deleteFlags = {
  ...deletionFlags,
  ...filenameFlags('Files, folders or URLs with the objects to delete.'),
  'all': boolFlag('Delete all objects of the given types in the namespace.'),
  'all-namespaces': boolFlag('Delete in all namespaces.', { shorthand: 'A' }),
  'dry-run': dryRunFlag,
  'field-selector': stringFlag('Selector of fields, with =, == and !=: metadata.name=web-0.'),
  'ignore-not-found': boolFlag('Objects that do not exist are no error. Default with --all and selectors.'),
  'interactive': boolFlag('Ask for confirmation first.', { shorthand: 'i' }),
  'now': boolFlag('Terminate at once; the same as --grace-period=1.'),
  'output': stringFlag('Only "name" is possible: print the names of the deleted objects.', {
    shorthand: 'o',
  }),
  'raw': stringFlag('Send DELETE to this path.'),
  'selector': selectorFlag,
  'wait': boolFlag('Return when the objects are gone, which may need the work of finalizers.', {
    shownDefault: 'true',
  }),
}

type DeleteInvocation = Invocation<typeof deleteFlags>

export const command = defineCommand({
  usage: 'delete ([-f FILENAME] | [-k DIRECTORY] | TYPE [(NAME | -l label | --all)])',
  description: `Deletes objects by file, stdin, name, selector or type.

Most objects are deleted with a grace period, in which they terminate. --now shortens it to one second. With
--force and --grace-period=0 an object is removed from the API at once, although its processes may still
run: two pods with the same identity can then run at the same time, which stateful applications may not
survive. Use it only if the processes of the pod are known to have ended, or if the application tolerates
it.

The command does not compare versions. A change that is made between two commands is lost with the object.
After the deletion of a CustomResourceDefinition, the discovery cache may list its resources for some hours.`,
  examples: `  # The objects of a file
  kubectl delete -f pod.json

  # The objects of all files in a folder
  kubectl delete -f manifests/

  # The objects of a kustomization
  kubectl delete -k overlays/test

  # Pods and services with a label
  kubectl delete pods,services -l app=web

  # A pod with a grace period of one second
  kubectl delete pod web-0 --now

  # A pod on a node that is lost
  kubectl delete pod web-0 --grace-period=0 --force

  # All pods of the namespace, after a confirmation
  kubectl delete pods --all --interactive`,
  flags: deleteFlags,
  async run(invocation) {
    const { flags, factory, streams } = invocation
    const propagationPolicy = propagationPolicyOf(flags.cascade, streams)
    const gracePeriodSeconds = gracePeriodOf(flags)
    const dryRun = dryRunOf(flags['dry-run'], streams)
    validateFlags(invocation)
    if (flags.raw) return deleteRaw(invocation, flags.raw)
    const ignoreNotFound = flags['ignore-not-found'] ?? hasSelection(invocation)
    const found = await findResources(factory, queryOf(invocation))
    if (gracePeriodSeconds === 0) {
      factory.printWarning(
        'Immediate deletion does not wait for confirmation that the running resource has been ' +
          'terminated. The resource may continue to run on the cluster indefinitely.',
      )
    }
    const errors = found.errors.filter(error => !(ignoreNotFound && isApiError(error, 'NotFound')))
    if (flags.interactive) {
      throwAny(errors)
      if (found.infos.length > 0 && !(await confirms(invocation, found.infos))) {
        streams.write('deletion is cancelled\n')
        return
      }
    }
    const { isExplicit } = await factory.namespace()
    const { deleted, failures } = await deleteObjects(found.infos, {
      factory,
      plan: { propagationPolicy, gracePeriodSeconds, dryRun: dryRun === 'server' },
      dryRun,
      ignoreNotFound,
      printsNames: flags.output === 'name',
      warnsOfScope: isExplicit && !flags['all-namespaces'],
    })
    throwAny([...errors, ...failures])
    if (found.infos.length === 0) streams.write('No resources found\n')
    if ((flags.wait ?? true) && dryRun === 'none') {
      await waitForDeletion(factory, { deleted, timeoutMs: flags.timeout ?? 0 })
    }
  },
})

function hasSelection({ flags }: DeleteInvocation): boolean {
  return Boolean(flags.all || flags.selector || flags['field-selector'])
}

function queryOf({ args, flags }: DeleteInvocation): ResourceQuery {
  return {
    ...filesOf(flags),
    args,
    labelSelector: flags.selector,
    fieldSelector: flags['field-selector'],
    all: flags.all,
    allNamespaces: flags['all-namespaces'],
  }
}

function validateFlags({ flags }: DeleteInvocation): void {
  const { output, raw, filename = [] } = flags
  if (output && output !== 'name')
    throw new Error(`unexpected -o output mode: ${output}. We only support '-o name'`)
  if (!raw) return
  if (flags.interactive) throw new Error('--interactive can not be used with --raw')
  if (filename.length > 1) throw new Error('--raw can only use a single local file or stdin')
  if (/^https?:\/\//.test(filename[0] ?? '')) throw new Error('--raw cannot read from a url')
  if (flags.recursive) throw new Error('--raw and --recursive are mutually exclusive')
  if (output) throw new Error('--raw and --output are mutually exclusive')
}

async function deleteRaw({ flags, factory }: DeleteInvocation, path: string): Promise<void> {
  const { sendRaw } = await import('../resource/send-raw.ts')
  return sendRaw(factory, { method: 'DELETE', path, filename: flags.filename?.[0] })
}

async function confirms({ streams }: DeleteInvocation, infos: readonly Info[]): Promise<boolean> {
  streams.write(`You are about to delete the following ${infos.length} resource(s):\n`)
  for (const info of infos) streams.write(`${objectName(info)}\n`)
  const answer = await streams.stdin.readLine({ prompt: 'Do you want to continue? (y/N): ' })
  return answer?.trim().toLowerCase() === 'y'
}
