export function podJson(number: number): string {
  return JSON.stringify({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: `pod-${number}`, labels: { app: 'web', shard: String(number % 100) } },
    spec: {
      containers: [
        {
          name: 'web',
          image: 'registry.example.com/web:1.2.3',
          ports: [{ containerPort: 8080, name: 'http' }],
          env: [{ name: 'MODE', value: 'production' }],
          resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
          readinessProbe: { httpGet: { path: '/ready', port: 'http' } },
        },
      ],
    },
  })
}
