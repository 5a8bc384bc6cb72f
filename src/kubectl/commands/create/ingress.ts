import { defineCommand } from '../../command.ts'
import { sortedMap } from '../../create/generated-object.ts'
import { planIngressSpec, validateIngress } from '../../create/ingress-spec.ts'
import { createFlags, ObjectCreator } from '../../create/object-creator.ts'
import { stringArrayFlag, stringFlag } from '../../flag-types.ts'

export const command = defineCommand({
  usage: 'ingress NAME --rule=host/path=service:port[,tls[=secret]]',
  description: `Creates an ingress.

A rule is HOST/PATH=SERVICE:PORT. Without a host it is for all hosts. A path that ends with "*" is a prefix. With ",tls"
the host is served with the default certificate, with ",tls=SECRET" with that of a secret.`,
  examples: `  # Requests of shop.example.com/cart go to port 8080 of the service cart
  kubectl create ingress shop --rule="shop.example.com/cart=cart:8080,tls=certificate"

  # All hosts, and an ingress class
  kubectl create ingress all --class=nginx --rule="/*=web:http"

  # Several paths and hosts
  kubectl create ingress shop --class=nginx \\
    --rule="shop.example.com/*=web:80" \\
    --rule="shop.example.com/admin*=admin:80" \\
    --rule="api.example.com/*=api:8080,tls"

  # Annotations, and a service for all other requests
  kubectl create ingress shop --default-backend=web:80 --annotation example.com/timeout=5s`,
  flags: {
    ...createFlags,
    'annotation': stringArrayFlag('Annotation of the ingress, KEY=VALUE; may be repeated.'),
    'class': stringFlag('Name of the ingress class.'),
    'default-backend': stringFlag('Service for requests that match no rule, NAME:PORT.'),
    'rule': stringArrayFlag('Rule, HOST/PATH=SERVICE:PORT[,tls[=SECRET]]; may be repeated.'),
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    const { annotation: given = [], class: className = '', rule: rules = [] } = invocation.flags
    const content = { className, rules, defaultBackend: invocation.flags['default-backend'] ?? '' }
    validateIngress(content, given)
    const annotations = given.map(text => {
      const equals = text.indexOf('=')
      return [text.slice(0, equals), text.slice(equals + 1)] as const
    })
    await creator.create({
      resource: {
        group: 'networking.k8s.io',
        version: 'v1',
        kind: 'Ingress',
        plural: 'ingresses',
        scope: 'Namespaced',
      },
      failure: 'failed to create ingress:',
      content: {
        metadata: { annotations: sortedMap(Object.fromEntries(annotations)) },
        spec: planIngressSpec(content),
        status: { loadBalancer: {} },
      },
    })
  },
})
