import { defineCommand } from '../command.ts'
import { GeneratedObjectSender } from '../create/generated-object-sender.ts'
import { applyOverrides } from '../create/overrides.ts'
import { splitOutput } from '../printers/object-printer.ts'
import { planPod, pods, runLabels, type RunRequest } from '../run/plan-pod.ts'
import type { CreatedObject } from '../run/attach-created-pod.ts'
import { runFieldManager, runFlags, type RunInvocation } from '../run/run-flags.ts'
import { allowsOldGenerators, validateOldFlags, validateRun } from '../run/validate-run.ts'

export const command = defineCommand({
  usage:
    'run NAME --image=image [--env="key=value"] [--port=port] [--dry-run=server|client] ' +
    '[--overrides=inline-json] [--command] -- [COMMAND] [args...]',
  description: `Creates a pod that runs an image.

Old: kubectl before 1.18 created a Deployment, or a Job with --restart=OnFailure, or a CronJob with --schedule, and had
the flags --generator, --hostport, --limits, --replicas, --requests, --schedule and --serviceaccount. It does so again
if the environment variable KUBECTL_OLD_GENERATORS is "true".`,
  examples: `  # A pod
  kubectl run web --image=nginx

  # A port, environment variables and labels
  kubectl run cache --image=redis --port=6379 --env="MODE=small" --labels="app=cache,env=prod"

  # Only print the pod that would be created
  kubectl run web --image=nginx --dry-run=client -o yaml

  # Change the generated pod
  kubectl run web --image=nginx --overrides='{ "apiVersion": "v1", "spec": { "nodeName": "node-1" } }'

  # A shell in a pod that is deleted afterwards
  kubectl run shell -it --rm --image=busybox --restart=Never

  # Arguments for the command of the image, or another command
  kubectl run web --image=nginx -- arg1 arg2
  kubectl run web --image=nginx --command -- nginx-debug -g 'daemon off;'`,
  flags: runFlags,
  async run(invocation) {
    const { args, flags, streams } = invocation
    validateOldFlags(invocation)
    const attach = flags.attach ?? flags.stdin ?? false
    const sender = await GeneratedObjectSender.open(invocation, runFieldManager)
    validateRun(invocation, { dryRun: sender.dryRun, attach })
    const request = { name: args[0] ?? '', args: args.slice(1), flags }
    const { resource, object: planned } = await planWorkload(invocation, request)
    const object = await sender.send(resource, await applyOverrides(planned, flags))
    const created: CreatedObject[] = [{ resource, object }]
    if (flags.expose) {
      const service = await sendService(sender, request)
      sender.print(service.object, 'created')
      // A document of its own, as upstream prints it.
      if (splitOutput(flags).format === 'yaml') streams.write('---\n')
      created.push(service)
    }
    if (!attach) {
      sender.print(object, 'created')
      return
    }
    await attachAndRemove(invocation, created)
  },
})

async function planWorkload(invocation: RunInvocation, request: RunRequest) {
  if (!allowsOldGenerators(invocation)) return { resource: pods, object: planPod(request) }
  const { planOldWorkload } = await import('../run/old-generators.ts')
  const workload = planOldWorkload(request)
  if (workload.deprecation !== undefined) invocation.streams.stderr.write(`${workload.deprecation}\n`)
  return workload
}

async function sendService(sender: GeneratedObjectSender, request: RunRequest): Promise<CreatedObject> {
  const { planService, services } = await import('../expose/plan-service.ts')
  const { name, flags } = request
  const labels = runLabels(request)
  const service = planService({
    name,
    selector: labels,
    ...(flags.labels && { labels }),
    ports: [flags.port ?? ''],
  })
  return { resource: services, object: await sender.send(services, service) }
}

async function attachAndRemove(invocation: RunInvocation, created: readonly CreatedObject[]): Promise<void> {
  const { attachCreatedPod, removeCreated } = await import('../run/attach-created-pod.ts')
  try {
    await attachCreatedPod(invocation, created[0]!)
  } finally {
    if (invocation.flags.rm) await removeCreated(invocation, created)
  }
}
