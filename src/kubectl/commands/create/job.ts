import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { defineCommand } from '../../command.ts'
import { jobTemplate } from '../../create/container.ts'
import { sortedMap, type ObjectContent } from '../../create/generated-object.ts'
import { createFlags, ObjectCreator } from '../../create/object-creator.ts'
import type { Factory } from '../../factory.ts'
import { stringFlag } from '../../flag-types.ts'
import { metadataText } from '../../resource/info.ts'

export const command = defineCommand({
  usage: 'job NAME --image=image [--from=cronjob/name] -- [COMMAND] [args...]',
  description: 'Creates a job that runs an image, or the job that a cron job would create now.',
  examples: `  # A job
  kubectl create job once --image=busybox

  # A job with a command
  kubectl create job once --image=busybox -- date

  # The job of a cron job, without waiting for its schedule
  kubectl create job now --from=cronjob/nightly`,
  flags: {
    ...createFlags,
    from: stringFlag('The cron job whose job is created: cronjob/NAME.'),
    image: stringFlag('Image to run.'),
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    const { name, command } = creator
    const { image = '', from = '' } = invocation.flags
    if ((image === '') === (from === '')) throw new Error('either --image or --from must be specified')
    if (command.length > 0 && from !== '') throw new Error('cannot specify --from and command')
    const content: Partial<ObjectContent> =
      image === ''
        ? jobOf(await readCronJob(invocation.factory, from))
        : { spec: { template: jobTemplate({ name, image, command }, 'Never') }, status: {} }
    await creator.create({
      resource: { group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', scope: 'Namespaced' },
      failure: 'failed to create job:',
      content,
    })
  },
})

async function readCronJob(factory: Factory, from: string): Promise<JsonObject> {
  const { requireResources } = await import('../../resource/find-resources.ts')
  const infos = await requireResources(factory, { args: [from], latest: true })
  const [info] = infos
  if (infos.length !== 1 || info?.object === undefined) throw new Error('from must be an existing cronjob')
  const { kind, group } = info.mapping
  if (kind === 'CronJob' && group === 'batch') return info.object
  throw new Error(`unknown object type *v1.${kind}`)
}

/** Blocks no deletion of the cron job, which would need the permission to update its finalizers. */
function jobOf(cronJob: JsonObject): Partial<ObjectContent> {
  const spec = isObject(cronJob['spec']) ? cronJob['spec'] : {}
  const template = isObject(spec['jobTemplate']) ? spec['jobTemplate'] : {}
  const { labels, annotations } = isObject(template['metadata']) ? template['metadata'] : {}
  const owner = {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    name: metadataText(cronJob, 'name'),
    uid: metadataText(cronJob, 'uid'),
    controller: true,
  }
  return {
    metadata: {
      ...(isObject(labels) && { labels }),
      annotations: sortedMap({
        'cronjob.kubernetes.io/instantiate': 'manual',
        ...(isObject(annotations) && annotations),
      }),
      ownerReferences: [owner],
    },
    spec: template['spec'] ?? {},
    status: {},
  }
}
