import type { Random } from '#/platform/platform.ts'
import { generateName } from '#/api/names.ts'
import { defineCommand } from '../../command.ts'
import { containerOf } from '../../create/container.ts'
import { createFlags, ObjectCreator } from '../../create/object-creator.ts'
import { int32Flag, stringSliceFlag } from '../../flag-types.ts'

export const command = defineCommand({
  usage: 'deployment NAME --image=image -- [COMMAND] [args...]',
  description: 'Creates a deployment. Its pods have one container for each image.',
  examples: `  # A deployment that runs nginx
  kubectl create deployment web --image=nginx

  # A deployment with a command
  kubectl create deployment web --image=busybox -- date

  # Three pods, whose containers listen on port 80
  kubectl create deployment web --image=nginx --replicas=3 --port=80

  # Pods with several containers
  kubectl create deployment web --image=nginx --image=busybox`,
  flags: {
    ...createFlags,
    image: stringSliceFlag('Images of the containers.', { required: true }),
    port: int32Flag('Port on which the first container listens.', { shownDefault: '-1' }),
    replicas: int32Flag('Number of pods.', { shorthand: 'r', shownDefault: '1' }),
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    const { name, command } = creator
    const { image: images = [], port = -1, replicas = 1 } = invocation.flags
    if (images.length > 1 && command.length > 0) {
      throw new Error('cannot specify multiple --image options and command')
    }
    const { random } = invocation.factory.machine.platform
    const containers = images.map((image, index) =>
      containerOf({
        name: containerNameOf(image, random),
        image,
        command,
        ...(index === 0 && port >= 0 && { port }),
      }),
    )
    const labels = { app: name }
    await creator.create({
      resource: {
        group: 'apps',
        version: 'v1',
        kind: 'Deployment',
        plural: 'deployments',
        scope: 'Namespaced',
      },
      failure: 'failed to create deployment:',
      content: {
        metadata: { labels },
        spec: {
          replicas,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers } },
          strategy: {},
        },
        status: {},
      },
    })
  },
})

/** The last part of the image's name. It gets a random suffix if characters must be replaced. */
function containerNameOf(image: string, random: Random): string {
  const [name = ''] = image.slice(image.lastIndexOf('/') + 1).split(/[:@]/)
  return /[._]/.test(name) ? generateName(`${name.replaceAll(/[._]/g, '-')}-`, random) : name
}
