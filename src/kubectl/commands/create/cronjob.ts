import { defineCommand } from '../../command.ts'
import { jobTemplate } from '../../create/container.ts'
import { createFlags, ObjectCreator } from '../../create/object-creator.ts'
import { stringFlag } from '../../flag-types.ts'

export const command = defineCommand({
  usage: "cronjob NAME --image=image --schedule='0/5 * * * ?' -- [COMMAND] [args...] [flags]",
  description: 'Creates a cron job.',
  examples: `  # A job every minute
  kubectl create cronjob often --image=busybox --schedule="*/1 * * * *"

  # A job with a command, at three o'clock
  kubectl create cronjob nightly --image=busybox --schedule="0 3 * * *" -- date`,
  flags: {
    ...createFlags,
    image: stringFlag('Image to run.', { required: true }),
    restart: stringFlag('Restart policy of the pods: OnFailure or Never.'),
    schedule: stringFlag('When jobs are created, in the Cron format.', { required: true }),
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    const { name, command } = creator
    const { image = '', restart, schedule = '' } = invocation.flags
    const template = jobTemplate({ name, image, command }, restart || 'OnFailure')
    await creator.create({
      resource: { group: 'batch', version: 'v1', kind: 'CronJob', plural: 'cronjobs', scope: 'Namespaced' },
      failure: 'failed to create cronjob:',
      content: {
        spec: { schedule, jobTemplate: { metadata: { name }, spec: { template } } },
        status: {},
      },
    })
  },
})
