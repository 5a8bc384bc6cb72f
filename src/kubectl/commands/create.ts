import { createFileFlags } from '../create/create-file-flags.ts'
import { defineCommand } from '../command.ts'
import { CommandUsageError } from '../errors.ts'

export const command = defineCommand({
  usage: 'create -f FILENAME',
  description: `Creates objects from files or from stdin, or with a subcommand from flags.

Files are JSON or YAML.`,
  examples: `  # The objects in a file
  kubectl create -f ./pod.json

  # The objects in stdin
  cat pod.json | kubectl create -f -

  # Edit the objects of a file before they are created
  kubectl create -f registry.yaml --edit -o json`,
  flags: createFileFlags,
  subcommands: {
    clusterrole: {
      summary: 'Create a cluster role',
      load: () => import('./create/clusterrole.ts'),
    },
    clusterrolebinding: {
      summary: 'Create a cluster role binding for a particular cluster role',
      load: () => import('./create/clusterrolebinding.ts'),
    },
    configmap: {
      summary: 'Create a config map from a local file, directory or literal value',
      aliases: ['cm'],
      load: () => import('./create/configmap.ts'),
    },
    cronjob: {
      summary: 'Create a cron job with the specified name',
      aliases: ['cj'],
      load: () => import('./create/cronjob.ts'),
    },
    deployment: {
      summary: 'Create a deployment with the specified name',
      aliases: ['deploy'],
      load: () => import('./create/deployment.ts'),
    },
    ingress: {
      summary: 'Create an ingress with the specified name',
      aliases: ['ing'],
      load: () => import('./create/ingress.ts'),
    },
    job: {
      summary: 'Create a job with the specified name',
      load: () => import('./create/job.ts'),
    },
    namespace: {
      summary: 'Create a namespace with the specified name',
      aliases: ['ns'],
      load: () => import('./create/namespace.ts'),
    },
    poddisruptionbudget: {
      summary: 'Create a pod disruption budget with the specified name',
      aliases: ['pdb'],
      load: () => import('./create/poddisruptionbudget.ts'),
    },
    priorityclass: {
      summary: 'Create a priority class with the specified name',
      aliases: ['pc'],
      load: () => import('./create/priorityclass.ts'),
    },
    quota: {
      summary: 'Create a quota with the specified name',
      aliases: ['resourcequota'],
      load: () => import('./create/quota.ts'),
    },
    role: {
      summary: 'Create a role with single rule',
      load: () => import('./create/role.ts'),
    },
    rolebinding: {
      summary: 'Create a role binding for a particular role or cluster role',
      load: () => import('./create/rolebinding.ts'),
    },
    secret: {
      summary: 'Create a secret using a specified subcommand',
      load: () => import('./create/secret.ts'),
    },
    service: {
      summary: 'Create a service using a specified subcommand',
      aliases: ['svc'],
      load: () => import('./create/service.ts'),
    },
    serviceaccount: {
      summary: 'Create a service account with the specified name',
      aliases: ['sa'],
      load: () => import('./create/serviceaccount.ts'),
    },
    token: {
      summary: 'Request a service account token',
      load: () => import('./create/token.ts'),
    },
  },
  async run(invocation) {
    const { args } = invocation
    if (args.length > 0) throw new CommandUsageError(`Unexpected args: [${args.join(' ')}]`)
    const { createFromFiles } = await import('../create/create-from-files.ts')
    await createFromFiles(invocation)
  },
})
