import type { JsonObject } from '#/api/text/json-object.ts'
import { defineCommand } from '../../command.ts'
import { parseResourceList } from '../../create/resource-list.ts'
import { stringFlag } from '../../flag-types.ts'
import { nameTest, objectOf, withContainers, withPodSpec } from '../../set/pod-spec.ts'
import { recordedSetFlags } from '../../set/set-flags.ts'
import { findSetObjects, setObjects, validateSetFlags } from '../../set/set-objects.ts'
import { dryRunOf, selectorFlag } from '../../write-flags.ts'

export const command = defineCommand({
  usage: 'resources (-f FILENAME | TYPE NAME)  ([--limits=LIMITS & --requests=REQUESTS]',
  description: `Updates requests and limits of the containers of pod templates. Without a request, the
server uses the limit as the request, if there is one, or a default of a LimitRange.

Use "kubectl api-resources" for a complete list of supported resources.`,
  examples: `  # The limits of one container of a deployment
  kubectl set resources deployment web -c=main --limits=cpu=200m,memory=512Mi

  # Requests and limits of all containers
  kubectl set resources deployment web --limits=cpu=200m,memory=512Mi --requests=cpu=100m,memory=256Mi

  # Print the changed object of a file, without the server
  kubectl set resources -f web.yaml --limits=cpu=200m,memory=512Mi --local -o yaml`,
  flags: {
    ...recordedSetFlags,
    containers: stringFlag('Names of the containers to change, with * as wildcard.', {
      shorthand: 'c',
      shownDefault: `'*'`,
    }),
    limits: stringFlag('Limits: cpu=100m,memory=256Mi.'),
    requests: stringFlag('Requests: cpu=100m,memory=256Mi.'),
    selector: selectorFlag,
  },
  async run(invocation) {
    const { args, flags, streams } = invocation
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const infos = await findSetObjects(invocation, { resources: args, labelSelector: flags.selector })
    validateSetFlags(invocation, { dryRun, labelSelector: flags.selector })
    if (!flags.limits && !flags.requests) {
      throw new Error('you must specify an update to requests or limits (in the form of --requests/--limits)')
    }
    const limits = parseResourceList(flags.limits ?? '') ?? {}
    const requests = parseResourceList(flags.requests ?? '') ?? {}
    const pattern = flags.containers ?? '*'
    const errors: Error[] = []
    await setObjects(invocation, {
      infos,
      operation: 'resource requirements updated',
      failure: 'failed to patch resources update to pod template ',
      errors,
      change: object =>
        withPodSpec(object, spec => {
          const changed = withContainers(spec, {
            selects: nameTest(pattern),
            change: container => withResources(container, { limits, requests }),
          })
          if (changed === undefined)
            errors.push(new Error(`error: unable to find container named ${pattern}`))
          return changed ?? spec
        }),
    })
  },
})

/** Other resources of the container stay. */
function withResources(
  container: JsonObject,
  added: Readonly<Record<'limits' | 'requests', JsonObject>>,
): JsonObject {
  const resources = { ...objectOf(container['resources']) }
  for (const field of ['limits', 'requests'] as const) {
    if (Object.keys(added[field]).length > 0)
      resources[field] = { ...objectOf(resources[field]), ...added[field] }
  }
  return { ...container, resources }
}
