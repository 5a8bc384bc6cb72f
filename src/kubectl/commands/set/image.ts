import { defineCommand } from '../../command.ts'
import { hasFiles, dryRunOf, selectorFlag } from '../../write-flags.ts'
import { parseKeyValues, splitKeyValueArguments } from '../../key-value-arguments.ts'
import { throwAny } from '../../resource/find-resources.ts'
import { withContainers, withPodSpec } from '../../set/pod-spec.ts'
import { recordedSetFlags } from '../../set/set-flags.ts'
import { findSetObjects, setObjects, validateSetFlags } from '../../set/set-objects.ts'

export const command = defineCommand({
  usage:
    'image (-f FILENAME | TYPE NAME) CONTAINER_NAME_1=CONTAINER_IMAGE_1 ... CONTAINER_NAME_N=CONTAINER_IMAGE_N',
  description: `Updates images of containers of pods, replication controllers, deployments, daemon sets,
stateful sets, jobs, cron jobs and replica sets. The name * means all containers.`,
  examples: `  # The images of two containers of a deployment
  kubectl set image deployment/web main=nginx:1.29 side=busybox

  # One container in all deployments
  kubectl set image deployments --all main=nginx:1.29

  # All containers of a daemon set
  kubectl set image daemonset agent '*=nginx:1.29'

  # Print the changed object of a file, without the server
  kubectl set image -f web.yaml main=nginx:1.29 --local -o yaml`,
  flags: { ...recordedSetFlags, selector: selectorFlag },
  async run(invocation) {
    const { args, flags, streams } = invocation
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const { resources, pairs } = splitKeyValueArguments(args, 'image')
    const { set: images } = parseKeyValues(pairs, 'image')
    const infos = await findSetObjects(invocation, { resources, labelSelector: flags.selector })
    validateSetFlags(invocation, { dryRun, labelSelector: flags.selector })
    requireImages(images, resources.length > 0 || hasFiles(flags))
    const errors: Error[] = []
    await setObjects(invocation, {
      infos,
      operation: 'image updated',
      failure: 'failed to patch image update to pod template: ',
      errors,
      change: object =>
        withPodSpec(object, spec => {
          let changed = spec
          for (const [name, image] of images) {
            const next = withContainers(changed, {
              selects: each => name === '*' || each === name,
              change: container => ({ ...container, image }),
            })
            if (next === undefined)
              errors.push(new Error(`error: unable to find container named ${JSON.stringify(name)}`))
            else changed = next
          }
          return changed
        }),
    })
  },
})

function requireImages(images: ReadonlyMap<string, string>, hasObjects: boolean): void {
  const errors: Error[] = []
  if (!hasObjects) {
    errors.push(
      new Error('one or more resources must be specified as <resource> <name> or <resource>/<name>'),
    )
  }
  if (images.size === 0) errors.push(new Error('at least one image update is required'))
  if (images.size > 1 && images.has('*')) {
    errors.push(
      new Error(
        'all containers are already specified by *, but saw more than one container_name=container_image pairs',
      ),
    )
  }
  throwAny(errors)
}
