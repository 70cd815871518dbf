"""Runs the tests of this folder: run.py <the rushgate program> [unittest's arguments]."""
import os
import pathlib
import sys
import unittest

os.environ['RUSHGATE_PROGRAM'] = sys.argv.pop(1)
sys.dont_write_bytecode = True  # the sources stay as they are
folder = str(pathlib.Path(__file__).parent)
sys.path.insert(0, folder)
names = sys.argv[1:] or ['discover', '-s', folder, '-p', '*_test.py']
unittest.main(module=None, argv=[sys.argv[0], *names])
