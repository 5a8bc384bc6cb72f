import type { ServiceList } from '#/api/generated/core/v1.ts'
import { defineCommand } from '../command.ts'
import { builtInResources } from '../resource/built-in-resources.ts'
import { serviceAddress } from './cluster-info/service-address.ts'

const clusterServices = 'kubernetes.io/cluster-service=true'

export const command = defineCommand({
  usage: 'cluster-info [flags]',
  description: `Shows the addresses of the control plane and of the services with the label
${clusterServices}.
"kubectl cluster-info dump" shows more, to diagnose problems of a cluster.`,
  examples: `  # The addresses of the control plane and of the services of the cluster
  kubectl cluster-info`,
  flags: {},
  subcommands: {
    dump: {
      summary: 'Dump the state of the cluster for a diagnosis',
      load: () => import('./cluster-info/dump.ts'),
    },
  },
  async run({ factory, streams }) {
    const { server } = await factory.clientConfig()
    const namespace = factory.globalFlags.namespace || 'kube-system'
    try {
      const resources = await factory.resources()
      const location = { mapping: builtInResources.services, namespace }
      const { items } = (await resources.get(location, {
        labelSelector: clusterServices,
      })) as unknown as ServiceList
      streams.write(`Kubernetes control plane is running at ${server}\n`)
      for (const service of items) {
        const name = service.metadata.labels?.['kubernetes.io/name'] || service.metadata.name
        streams.write(`${name} is running at ${serviceAddress(service, server)}\n`)
      }
    } finally {
      streams.write(`\nTo further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.\n`)
    }
  },
})
