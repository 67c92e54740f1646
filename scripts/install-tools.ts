import { spawnSync } from 'node:child_process'

/**
 * Installs commands that are missing, on Debian as root; elsewhere says what is missing, and ends the process with 1.
 * @param tools The Debian package of each command.
 * @param who What needs them.
 */
export function installTools(tools: Readonly<Record<string, string>>, who: string): void {
  const missing = Object.entries(tools).filter(([command]) => spawnSync(command, ['--version']).error !== undefined)
  if (missing.length === 0) return
  const packages = missing.map(([, name]) => name).join(' ')
  const canInstall = process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).error === undefined
  const install = `apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends ${packages}`
  if (!canInstall || spawnSync('sh', ['-c', install], { stdio: ['ignore', 2, 2] }).status !== 0) {
    console.error(`${who} need ${missing.map(([command]) => command).join(', ')}: install ${packages} and try again`)
    process.exit(1)
  }
}
